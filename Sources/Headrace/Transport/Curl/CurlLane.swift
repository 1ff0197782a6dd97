#if os(Linux)
import CHeadrace

/// A multi handle of libcurl with its connections; must only be used on the thread of the ``CurlLoop``.
///
/// A driver has one lane in which each transfer has its own connection, and several shared lanes. A shared lane has at
/// most one connection to a server, on which small HTTP/2 responses are multiplexed. On its own, libcurl opens too few
/// or too many connections to a server; here, the number of lanes limits them.
final class CurlLane {
    /// The number of shared lanes, each with one connection to a server.
    static let sharedCount = 16
    /// The minimum number of free file descriptors with which shared lanes are used.
    ///
    /// Each lane needs two descriptors, and one more for each idle connection.
    static let minFreeDescriptors = 512
    /// The maximum number of body bytes of a response that may share a connection.
    ///
    /// A paused transfer would block the others on its connection. A transfer on a shared connection is therefore never
    /// paused, and its body must fit into memory.
    static let maxSharedBytes: Int64 = 256 << 10
    /// The maximum number of name lookups at once, each of which has a thread.
    private static let maxLookups = 512

    let multi: hr_multi
    let isShared: Bool
    /// The time at which libcurl must be called even without an event; `nil` if libcurl has requested none.
    var timer: SuspendingClock.Instant?
    /// The number of transfers in a shared lane, by server.
    private(set) var transfers: [ConnectionReuse.Server: Int] = [:]
    /// Called with this lane, an easy handle, its socket, and the events to watch for.
    var onSocketChange: ((CurlLane, hr_easy, Int32, Int32) -> Void)?

    /// Takes ownership of libcurl's handle, which ``close()`` frees.
    init(_ multi: hr_multi, isShared: Bool) {
        self.multi = multi
        self.isShared = isShared
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = hr_multi_set_pointer(multi, HR_MOPT_SOCKETDATA, context)
        _ = hr_multi_set_socket_callback(multi, socketChanged)
        _ = hr_multi_set_pointer(multi, HR_MOPT_TIMERDATA, context)
        _ = hr_multi_set_timer_callback(multi, timerChanged)
        // libcurl has these two options since 8.20. Without them, freeing the handle waits for name lookups, and twenty
        // lookups of a slow name server block all others.
        _ = hr_multi_set_long(multi, HR_MOPT_QUICK_EXIT, 1)
        _ = hr_multi_set_long(multi, HR_MOPT_RESOLVE_THREADS_MAX, Self.maxLookups)
        if isShared {
            _ = hr_multi_set_long(multi, HR_MOPT_PIPELINING, HR_PIPE_MULTIPLEX)
            _ = hr_multi_set_long(multi, HR_MOPT_MAX_HOST_CONNECTIONS, 1)
            _ = hr_multi_set_long(multi, HR_MOPT_MAXCONNECTS, 2)
        } else {
            // Limits the connections retained for later transfers.
            let idleConnections = DescriptorBudget.idleConnections(free: DescriptorLimit.free())
            _ = hr_multi_set_long(multi, HR_MOPT_MAXCONNECTS, idleConnections)
            _ = hr_multi_set_long(multi, HR_MOPT_PIPELINING, HR_PIPE_NOTHING)
        }
    }

    func close() {
        _ = hr_multi_cleanup(multi)
    }

    /// Adds a transfer; returns `false` if libcurl refuses it.
    func add(_ transfer: CurlTransfer) -> Bool {
        guard hr_multi_add(multi, transfer.handle) == 0 else { return false }
        transfer.lane = self
        if isShared { transfers[transfer.server, default: 0] += 1 }
        return true
    }

    /// Removes a transfer, if it was added.
    func remove(_ transfer: CurlTransfer) {
        guard transfer.lane === self else { return }
        _ = hr_multi_remove(multi, transfer.handle)
        guard isShared, let count = transfers[transfer.server] else { return }
        transfers[transfer.server] = count > 1 ? count - 1 : nil
    }

    fileprivate func watch(_ easy: hr_easy, _ socket: Int32, _ what: Int32) {
        onSocketChange?(self, easy, socket, what)
    }
}

extension CurlTransfer {
    /// The time until which the request may wait for a shared connection, or for a free stream on one; `nil` if its
    /// lane is not shared.
    ///
    /// libcurl before 8.8 does not limit this wait. Later releases have a limit of their own, which is reached first.
    var waitEnd: SuspendingClock.Instant? {
        lane?.isShared == true ? start + request.connectTimeout + .seconds(1) : nil
    }

    /// Returns whether ``waitEnd`` has passed and the request is still not sent.
    func hasWaitedTooLong(at now: SuspendingClock.Instant) -> Bool {
        guard let waitEnd, waitEnd <= now else { return false }
        // A transfer that shares a connection is never paused, so it is silent once its request was sent.
        return silence(at: now) == nil
    }
}

private let socketChanged: hr_socket_callback = { easy, socket, what, context, _ in
    guard let easy, let context else { return 0 }
    Unmanaged<CurlLane>.fromOpaque(context).takeUnretainedValue().watch(easy, socket, what)
    return 0
}

private let timerChanged: hr_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    let lane = Unmanaged<CurlLane>.fromOpaque(context).takeUnretainedValue()
    lane.timer = milliseconds < 0 ? nil : SuspendingClock.now + .milliseconds(milliseconds)
    return 0
}
#endif
