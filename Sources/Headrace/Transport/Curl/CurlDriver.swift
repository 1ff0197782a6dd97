#if os(Linux)
import CHeadrace
import HeadracePlatform

/// The current time that all transfers use, read after each wait for events and before each command.
final class CurlTime {
    fileprivate(set) var now = SuspendingClock.now
}

/// Drives libcurl's multi handles; must only be used on the thread of the ``CurlLoop``.
///
/// Uses the socket interface instead of `curl_multi_perform`, so that the cost of a step depends on the number of
/// events and not on the number of transfers.
final class CurlDriver {
    typealias TransferID = UInt64

    /// The maximum number of easy handles that are kept for later transfers.
    private static let maxIdleHandles = 32

    private let poller: hr_poller
    private let configuration: DownloadConfiguration
    private let clock = SuspendingClock()
    private let time = CurlTime()
    /// The lane in which each transfer has its own connection: on a shared HTTP/2 connection, one paused transfer would
    /// block the others.
    private let ownLane: CurlLane
    /// The lanes whose transfers share connections; created on demand.
    private var sharedLanes: [CurlLane] = []
    /// Whether the process may open enough descriptors for shared lanes.
    private let allowsSharing = DescriptorLimit.free() >= CurlLane.minFreeDescriptors
    /// The lane of each watched socket of a shared lane; all other watched sockets belong to ``ownLane``.
    private var laneOfSocket: [Int32: CurlLane] = [:]
    private var transfers: [TransferID: CurlTransfer] = [:]
    /// Whether a transfer is being removed; libcurl then also cancels the transfer's name lookup over HTTPS.
    private var isRemoving = false
    /// Whether libcurl keeps the connection of an unfinished lookup over HTTPS open; the next lookup on that connection
    /// would then receive the response to the unfinished one.
    private let keepsUnfinishedLookups = hr_curl_load() < 0x080900
    /// The transfers whose sockets could not be watched, with the errors.
    private var unwatched: [(CurlTransfer, SystemError)] = []
    private var idleHandles: [hr_easy] = []
    /// The transfers that have delivered a head or bytes since the last call of ``flush()``.
    private var delivered: [CurlTransfer] = []
    /// The transfers whose readers are woken later, because few bytes have arrived.
    ///
    /// If a body arrives in small pieces, its reader is thus woken once for several pieces.
    private var held: Set<TransferID> = []
    /// The time at which the readers of the ``held`` transfers are woken; `nil` if no time has been set.
    private var holdEnd: SuspendingClock.Instant?
    private static let holdTime = Duration.milliseconds(1)
    /// The transfers whose body ends when the TLS connection closes, keyed by that connection.
    private var endingConnections: [UnsafeRawPointer: CurlTransfer] = [:]
    /// The time of the next check for stalled transfers: the earliest known deadline or end of a wait for a shared
    /// connection; `nil` if no check is planned.
    private var stallCheck: SuspendingClock.Instant?
    private var reuse = ConnectionReuse()
    /// The servers that refused HTTP/1.1; later requests to them offer HTTP/2 at once, which saves a failed handshake.
    private var http2Only: Set<ConnectionReuse.Server> = []
    private static let maxHTTP2Only = 256
    private var ready = [hr_ready](repeating: hr_ready(), count: 256)

    /// Takes ownership of libcurl's handle, which ``close()`` frees.
    init(_ poller: hr_poller, _ multi: hr_multi, _ configuration: DownloadConfiguration) {
        self.poller = poller
        self.configuration = configuration
        ownLane = CurlLane(multi, isShared: false)
        hr_on_close_notify(tlsEnded, Unmanaged.passUnretained(self).toOpaque())
        ownLane.onSocketChange = { [unowned self] in watch($0, $1, $2, $3) }
    }

    /// Fails all transfers and frees libcurl's handles; the driver cannot be used afterwards.
    func close() {
        for transfer in transfers.values {
            transfer.stream.fail(.shutDown())
            remove(transfer)
        }
        for handle in idleHandles { hr_easy_cleanup(handle) }
        idleHandles = []
        for lane in sharedLanes { lane.close() }
        ownLane.close()
        hr_on_close_notify(nil, nil)
    }

    func perform(_ command: CurlLoop.Command) {
        // The machine may have slept since the last events.
        time.now = clock.now
        switch command {
        case .start(let id, let request, let stream): start(id, request, stream)
        case .resume(let id):
            guard let transfer = transfers[id] else { return }
            let code = transfer.resume()
            guard code != HR_E_OK else { return }
            transfer.end(code)
            remove(transfer)
        case .cancel(let id):
            guard let transfer = transfers[id] else { return }
            // Over a shared connection, the server may be busy with other requests.
            if transfer.isSuspect(at: time.now), others(on: transfer).allSatisfy({ $0.isSuspect(at: time.now) }) {
                suspect(transfer)
            }
            remove(transfer)
        case .suspect(let request): reuse.suspect(ConnectionReuse.Server(request), at: .now)
        case .dropIdleConnections: reuse.suspectAll(at: .now)
        }
    }

    /// Performs the due work, then waits for events and handles them; waits only if `mayWait` returns `true`.
    func step(_ mayWait: () -> Bool) {
        // Called before the wait, because a transfer that was just started is due immediately.
        handleTimer()
        failUnwatched()
        flush()
        let milliseconds = timeout()
        handleEvents(within: milliseconds == 0 || mayWait() ? milliseconds : 0)
        let isStallDue = stallCheck.map { $0 <= time.now } ?? false
        if isStallDue {
            // If the process was suspended, data that arrived meanwhile must be read before stalls can be detected.
            for _ in 0...transfers.count / ready.count { handleEvents(within: 0) }
        }
        handleTimer()
        flush()
        if isStallDue { checkForStalls(at: time.now) }
    }

    /// Wakes the readers of transfers that delivered a head, many bytes, or bytes that were held back long enough.
    private func flush() {
        for transfer in delivered where transfer.flush() { held.insert(transfer.id) }
        delivered.removeAll(keepingCapacity: true)
        guard let end = holdEnd else {
            if !held.isEmpty { holdEnd = time.now + Self.holdTime }
            return
        }
        guard end <= time.now else { return }
        for id in held { transfers[id]?.stream.flush() }
        held.removeAll(keepingCapacity: true)
        holdEnd = nil
    }

    private func handleTimer() {
        handleTimer(of: ownLane)
        for lane in sharedLanes { handleTimer(of: lane) }
    }

    private func handleTimer(of lane: CurlLane) {
        guard let timer = lane.timer, timer <= clock.now else { return }
        lane.timer = nil
        _ = hr_multi_socket_action(lane.multi, Int32(HR_SOCKET_TIMEOUT), 0)
        reap(lane)
    }

    private func handleEvents(within milliseconds: Int32) {
        let count = withUnsafePointer(to: poller) { poller in
            Int(hr_poller_wait(poller, &ready, Int32(ready.count), milliseconds))
        }
        time.now = clock.now
        for event in ready[..<count] {
            let lane = laneOfSocket.isEmpty ? ownLane : laneOfSocket[event.socket] ?? ownLane
            _ = hr_multi_socket_action(lane.multi, event.socket, event.events)
            // Called for each event, so that readers of finished transfers do not wait for the remaining events.
            reap(lane)
        }
    }

    private func timeout() -> Int32 {
        var next = [ownLane.timer, stallCheck].compactMap(\.self).min()
        for lane in sharedLanes { if let timer = lane.timer { next = min(next ?? timer, timer) } }
        if let holdEnd { next = min(next ?? holdEnd, holdEnd) }
        guard let next else { return -1 }
        let wait = min(next - clock.now, .seconds(60))
        let milliseconds = wait.wholeMilliseconds
        // Rounded up: a wait that returns too early would cause a busy loop for up to a millisecond.
        return Int32(wait > .milliseconds(milliseconds) ? milliseconds + 1 : milliseconds)
    }

    private func start(_ id: TransferID, _ request: TransportRequest, _ stream: ResponseStream) {
        let server = ConnectionReuse.Server(request)
        let rule = reuse.rule(for: server, at: .now)
        let mayShare =
            request.mayShareConnection && !request.needsOwnConnection && request.url.isHTTPS && request.proxy == nil
            && allowsSharing && configuration.connectionPolicy.httpVersion.offersHTTP2(for: request)
        if mayShare, rule != .any { return requireOwnConnection(request, stream) }
        guard let handle = idleHandles.popLast() ?? hr_easy_init() else {
            return stream.fail(DownloadError(.transportUnavailable, "libcurl could not create a transfer."))
        }
        var request = request
        if request.prefersHTTP1, http2Only.contains(server) { request.prefersHTTP1 = false }
        let transfer = CurlTransfer(id, handle, request, stream, time) { [unowned self] transfer in
            delivered.append(transfer)
            if let connection = transfer.endingConnection { endingConnections[connection] = transfer }
        }
        transfer.server = server
        transfers[id] = transfer
        do throws(DownloadError) {
            let lane = mayShare ? sharedLane(for: server) : ownLane
            try transfer.configure(configuration, rule, isShared: lane.isShared)
            guard lane.add(transfer) else {
                throw DownloadError(.transportUnavailable, "libcurl could not start a transfer.")
            }
        } catch {
            stream.fail(error)
            return remove(transfer)
        }
        scheduleStallCheck(of: transfer, at: time.now)
    }

    /// Ends the stream with a head that makes the reader reserve a connection and send the request again on it.
    private func requireOwnConnection(_ request: TransportRequest, _ stream: ResponseStream) {
        stream.deliver(.needingOwnConnection(request.url))
        stream.finish()
    }

    /// Returns the shared lane with the fewest transfers from a server.
    ///
    /// If every lane already has a transfer from the server, returns a new lane. Uses no more than
    /// ``CurlLane/sharedCount`` lanes, and no more than the maximum number of connections to a host. If libcurl cannot
    /// create the first shared lane, returns ``ownLane``.
    private func sharedLane(for server: ConnectionReuse.Server) -> CurlLane {
        let most = min(CurlLane.sharedCount, configuration.maxConnectionsPerHost)
        let lane = sharedLanes.min { $0.transfers[server, default: 0] < $1.transfers[server, default: 0] }
        if let lane, lane.transfers[server] == nil || sharedLanes.count >= most { return lane }
        guard let multi = hr_multi_init() else { return lane ?? ownLane }
        let new = CurlLane(multi, isShared: true)
        new.onSocketChange = { [unowned self] in watch($0, $1, $2, $3) }
        sharedLanes.append(new)
        return new
    }

    private func reap(_ lane: CurlLane) {
        var handle: hr_easy?
        var code = HR_E_OK
        while hr_multi_next_done(lane.multi, &handle, &code) != 0 {
            if let handle, let transfer = Self.transfer(of: handle) { finish(transfer, code) }
        }
    }

    private static func transfer(of handle: hr_easy) -> CurlTransfer? {
        var context: UnsafeMutableRawPointer?
        _ = hr_easy_get_pointer(handle, HR_INFO_PRIVATE, &context)
        return context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Finishes a transfer with libcurl's result, or repeats its request if that may help.
    ///
    /// The driver repeats the request itself. But if the request was in a shared lane, the reader repeats it; see
    /// ``requireOwnConnection(_:_:)``.
    private func finish(_ transfer: CurlTransfer, _ code: hr_code) {
        if transfer.refusesHTTP1(code), http2Only.count < Self.maxHTTP2Only { http2Only.insert(transfer.server) }
        if transfer.hasLostReusedConnection(code) { reuse.suspect(transfer.server, at: .now) }
        let hasNoStream = code == HR_E_OPERATION_TIMEDOUT && !others(on: transfer).isEmpty
        guard let request = hasNoStream ? transfer.request : transfer.requestToRepeat(after: code) else {
            transfer.end(code)
            return remove(transfer)
        }
        remove(transfer)
        if transfer.lane?.isShared == true {
            requireOwnConnection(request, transfer.stream)
        } else {
            start(transfer.id, request, transfer.stream)
        }
    }

    /// Returns the other transfers on the shared connection that a transfer uses or waits for.
    private func others(on transfer: CurlTransfer) -> [CurlTransfer] {
        guard let lane = transfer.lane, lane.isShared else { return [] }
        return transfers.values.filter {
            $0 !== transfer && $0.lane === lane && $0.server == transfer.server && $0.silence(at: time.now) != nil
        }
    }

    /// Makes libcurl close a transfer's connection when the transfer is removed, and prevents the reuse of the
    /// connections to the same server that have been idle since the silence began; others have worked since.
    private func suspect(_ transfer: CurlTransfer) {
        // Over HTTP/2, libcurl would only close the stream and reuse the connection.
        transfer.forbidReuse()
        let silence = transfer.silence(at: time.now) ?? .zero
        reuse.suspect(transfer.server, at: time.now.advanced(by: .zero - silence))
    }

    private func remove(_ transfer: CurlTransfer) {
        isRemoving = true
        defer { isRemoving = false }
        transfer.reportMetrics()
        transfer.lane?.remove(transfer)
        // In libcurl before 8.8, a reused handle reports this transfer's errno for a failure of its next transfer.
        if transfer.osError == 0, idleHandles.count < Self.maxIdleHandles {
            hr_easy_reset(transfer.handle)
            // The reset has cleared this option. In libcurl 8.17 to 8.19, freeing the handle would otherwise wait for
            // its abandoned name lookup.
            _ = hr_easy_set_long(transfer.handle, HR_OPT_QUICK_EXIT, 1)
            idleHandles.append(transfer.handle)
        } else {
            hr_easy_cleanup(transfer.handle)
        }
        transfers[transfer.id] = nil
        if let connection = transfer.endingConnection { endingConnections[connection] = nil }
    }

    private func checkForStalls(at now: SuspendingClock.Instant) {
        stallCheck = nil
        for transfer in transfers.values where transfer.hasWaitedTooLong(at: now) {
            finish(transfer, HR_E_OPERATION_TIMEDOUT)
        }
        let transfers = Array(transfers.values)
        for transfer in transfers { transfer.extendDeadline(at: now) }
        let stalled = transfers.filter { $0.deadline <= now }
        let servers = Set(stalled.map(\.server))
        for transfer in stalled {
            reuse.stalled(transfer.server, for: transfer.silence(at: now) ?? .zero, at: .now)
            stall(transfer)
        }
        for transfer in transfers where self.transfers[transfer.id] != nil {
            // Another silent transfer from the same server has most likely lost its connection for the same reason.
            if servers.contains(transfer.server) { transfer.otherStalled(at: now) }
            if transfer.deadline <= now { stall(transfer) } else { scheduleStallCheck(of: transfer, at: now) }
        }
    }

    private func stall(_ transfer: CurlTransfer) {
        transfer.forbidReuse()
        transfer.failStalled()
        remove(transfer)
    }

    private func scheduleStallCheck(of transfer: CurlTransfer, at now: SuspendingClock.Instant) {
        var check = transfer.deadline
        if let waitEnd = transfer.waitEnd, waitEnd > now, waitEnd < check { check = waitEnd }
        if let stallCheck, stallCheck <= check { return }
        stallCheck = check
    }

    fileprivate func recordCloseNotify(on connection: UnsafeRawPointer) {
        endingConnections[connection]?.hasCloseNotify = true
    }

    private func watch(_ lane: CurlLane, _ handle: hr_easy, _ socket: Int32, _ what: Int32) {
        // CURL_POLL_IN and _OUT have the values of HR_CSELECT_IN and _OUT.
        let events = what == Int32(HR_POLL_REMOVE) ? 0 : what
        let failure = withUnsafePointer(to: poller) { hr_poller_watch($0, socket, events) }
        if lane.isShared { laneOfSocket[socket] = events == 0 ? nil : lane }
        guard let transfer = Self.transfer(of: handle) else {
            // The handle is libcurl's own, for a lookup over HTTPS. Child processes would inherit its sockets.
            if events != 0 { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
            // A connection that was shut down is not reused.
            if events == 0, isRemoving, keepsUnfinishedLookups { shutdown(socket, Int32(SHUT_RDWR)) }
            return
        }
        if failure != 0 { unwatched.append((transfer, SystemError(errno: failure))) }
    }

    /// Fails the transfers whose sockets could not be watched.
    ///
    /// `watch` cannot do this itself: libcurl does not allow its socket callback to remove transfers.
    private func failUnwatched() {
        guard !unwatched.isEmpty else { return }
        let failures = unwatched
        unwatched = []
        for (transfer, error) in failures where transfers[transfer.id] === transfer {
            let what = "The connection to \(transfer.request.url.server) could not be watched: \(error)."
            transfer.forbidReuse()
            transfer.stream.fail(DownloadError(.connection, what, cause: error))
            remove(transfer)
        }
    }
}

private let tlsEnded: hr_close_notify_callback = { context, connection in
    guard let context, let connection else { return }
    Unmanaged<CurlDriver>.fromOpaque(context).takeUnretainedValue().recordCloseNotify(on: connection)
}
#endif
