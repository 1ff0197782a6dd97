#if os(Linux)
import CHeadrace

/// The current time that all transfers use, read after each wait for events and before each command.
final class CurlTime {
    fileprivate(set) var now = SuspendingClock.now
}

/// Drives libcurl's multi handle; must only be used on the thread of the ``CurlLoop``.
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
    private let multi: hr_multi
    private var transfers: [TransferID: CurlTransfer] = [:]
    private var idleHandles: [hr_easy] = []
    /// The transfers that have delivered data since readers were last woken.
    private var delivered: [CurlTransfer] = []
    /// The transfers whose body ends when the TLS connection closes, keyed by that connection.
    private var endingConnections: [UnsafeRawPointer: CurlTransfer] = [:]
    /// The time at which libcurl must be called even without an event; `nil` if libcurl has requested none.
    fileprivate var timer: SuspendingClock.Instant?
    /// The time of the next check for stalled transfers: the earliest known deadline; `nil` if no check is planned.
    private var stallCheck: SuspendingClock.Instant?
    /// The time until which new transfers reuse neither idle connections nor cached addresses; `nil` if they always
    /// may.
    private var freshUntil: SuspendingClock.Instant?
    private var reuse = ConnectionReuse()
    private var ready = [hr_ready](repeating: hr_ready(), count: 256)

    /// Takes ownership of libcurl's handle, which ``close()`` frees.
    init(_ poller: hr_poller, _ multi: hr_multi, _ configuration: DownloadConfiguration) {
        self.poller = poller
        self.configuration = configuration
        self.multi = multi
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = hr_multi_set_pointer(multi, HR_MOPT_SOCKETDATA, context)
        _ = hr_multi_set_socket_callback(multi, socketChanged)
        _ = hr_multi_set_pointer(multi, HR_MOPT_TIMERDATA, context)
        _ = hr_multi_set_timer_callback(multi, timerChanged)
        hr_on_close_notify(tlsEnded, context)
        // Limits the connections retained for later transfers.
        let idleConnections = DescriptorBudget.idleConnections(free: DescriptorLimit.free())
        _ = hr_multi_set_long(multi, HR_MOPT_MAXCONNECTS, idleConnections)
        // One connection per transfer: on a shared HTTP/2 connection, one paused transfer would block the others.
        _ = hr_multi_set_long(multi, HR_MOPT_PIPELINING, HR_PIPE_NOTHING)
    }

    /// Fails all transfers and frees libcurl's handles; the driver cannot be used afterwards.
    func close() {
        for transfer in transfers.values {
            transfer.stream.fail(.shutDown())
            remove(transfer)
        }
        for handle in idleHandles { hr_easy_cleanup(handle) }
        idleHandles = []
        _ = hr_multi_cleanup(multi)
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
            if transfer.isSuspect(at: time.now) { suspect(transfer) }
            remove(transfer)
        case .suspect(let request): reuse.suspect(ConnectionReuse.Server(request), at: .now)
        case .dropIdleConnections: freshUntil = time.now + ConnectionReuse.longestIdleTime
        }
    }

    /// Performs the due work, then waits for events and handles them; does not wait unless `mayWait` returns `true`.
    func step(_ mayWait: () -> Bool) {
        // Called before the wait, because a transfer that was just started is due immediately.
        handleTimer()
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

    /// Wakes the readers of transfers that delivered data.
    private func flush() {
        for transfer in delivered { transfer.flush() }
        delivered.removeAll(keepingCapacity: true)
    }

    private func handleTimer() {
        guard let timer, timer <= clock.now else { return }
        self.timer = nil
        _ = hr_multi_socket_action(multi, Int32(HR_SOCKET_TIMEOUT), 0)
        reap()
    }

    private func handleEvents(within milliseconds: Int32) {
        let count = withUnsafePointer(to: poller) { poller in
            Int(hr_poller_wait(poller, &ready, Int32(ready.count), milliseconds))
        }
        time.now = clock.now
        for event in ready[..<count] {
            _ = hr_multi_socket_action(multi, event.socket, event.events)
            // Called for each event, so that readers of finished transfers do not wait for the remaining events.
            reap()
        }
    }

    private func timeout() -> Int32 {
        guard let next = [timer, stallCheck].compactMap(\.self).min() else { return -1 }
        let wait = min(next - clock.now, .seconds(60))
        let milliseconds = wait.wholeMilliseconds
        // Rounded up: a wait that returns too early would cause a busy loop for up to a millisecond.
        return Int32(wait > .milliseconds(milliseconds) ? milliseconds + 1 : milliseconds)
    }

    private func start(_ id: TransferID, _ request: TransportRequest, _ stream: ResponseStream) {
        guard let handle = idleHandles.popLast() ?? hr_easy_init() else {
            return stream.fail(DownloadError(.transportUnavailable, "libcurl could not create a transfer."))
        }
        let transfer = CurlTransfer(id, handle, request, stream, time) { [unowned self] transfer in
            delivered.append(transfer)
            if let connection = transfer.endingConnection { endingConnections[connection] = transfer }
        }
        transfers[id] = transfer
        do throws(DownloadError) {
            let isFresh = freshUntil.map { time.now < $0 } ?? false
            try transfer.configure(configuration, reuse.rule(for: transfer.server, at: .now), isFresh: isFresh)
            guard hr_multi_add(multi, handle) == 0 else {
                throw DownloadError(.transportUnavailable, "libcurl could not start a transfer.")
            }
        } catch {
            stream.fail(error)
            return remove(transfer)
        }
        stallCheck = min(stallCheck ?? transfer.deadline, transfer.deadline)
    }

    private func reap() {
        var handle: hr_easy?
        var code = HR_E_OK
        while hr_multi_next_done(multi, &handle, &code) != 0 {
            var context: UnsafeMutableRawPointer?
            _ = hr_easy_get_pointer(handle, HR_INFO_PRIVATE, &context)
            guard let context else { continue }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            if transfer.offerHTTP2(after: code), hr_multi_remove(multi, handle) == 0, hr_multi_add(multi, handle) == 0 {
                continue
            }
            if transfer.hasLostReusedConnection(code) { reuse.suspect(transfer.server, at: .now) }
            transfer.end(code)
            remove(transfer)
        }
    }

    /// Makes libcurl close a transfer's connection when the transfer is removed, and prevents the reuse of the
    /// currently idle connections to the same server.
    private func suspect(_ transfer: CurlTransfer) {
        // Over HTTP/2, libcurl would only close the stream and reuse the connection.
        transfer.forbidReuse()
        reuse.suspect(transfer.server, at: .now)
    }

    private func remove(_ transfer: CurlTransfer) {
        _ = hr_multi_remove(multi, transfer.handle)
        // In libcurl before 8.8, a reused handle reports this transfer's errno for a failure of its next transfer.
        if transfer.osError == 0, idleHandles.count < Self.maxIdleHandles {
            hr_easy_reset(transfer.handle)
            idleHandles.append(transfer.handle)
        } else {
            hr_easy_cleanup(transfer.handle)
        }
        transfers[transfer.id] = nil
        if let connection = transfer.endingConnection { endingConnections[connection] = nil }
    }

    private func checkForStalls(at now: SuspendingClock.Instant) {
        stallCheck = nil
        let transfers = Array(transfers.values)
        for transfer in transfers { transfer.extendDeadline(at: now) }
        let stalled = transfers.filter { $0.deadline <= now }
        let servers = Set(stalled.map(\.server))
        for transfer in stalled {
            reuse.stalled(transfer.server, for: transfer.silence(at: now) ?? .zero, at: .now)
            transfer.forbidReuse()
            transfer.failStalled()
            remove(transfer)
        }
        for transfer in transfers where self.transfers[transfer.id] != nil {
            // Another silent transfer from the same server has most likely lost its connection for the same reason.
            if servers.contains(transfer.server) { transfer.otherStalled(at: now) }
            if transfer.deadline <= now {
                transfer.forbidReuse()
                transfer.failStalled()
                remove(transfer)
            } else {
                stallCheck = min(stallCheck ?? transfer.deadline, transfer.deadline)
            }
        }
    }

    fileprivate func recordGoAway(on connection: UnsafeRawPointer) {
        endingConnections[connection]?.hasCloseNotify = true
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32) {
        // CURL_POLL_IN and _OUT have the values of HR_CSELECT_IN and _OUT.
        let events = what == Int32(HR_POLL_REMOVE) ? 0 : what
        withUnsafePointer(to: poller) { hr_poller_watch($0, socket, events) }
    }
}

private let tlsEnded: hr_close_notify_callback = { context, connection in
    guard let context, let connection else { return }
    Unmanaged<CurlDriver>.fromOpaque(context).takeUnretainedValue().recordGoAway(on: connection)
}

private let socketChanged: hr_socket_callback = { _, socket, what, context, _ in
    guard let context else { return 0 }
    Unmanaged<CurlDriver>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
    return 0
}

private let timerChanged: hr_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    let driver = Unmanaged<CurlDriver>.fromOpaque(context).takeUnretainedValue()
    driver.timer = milliseconds < 0 ? nil : SuspendingClock.now + .milliseconds(milliseconds)
    return 0
}
#endif
