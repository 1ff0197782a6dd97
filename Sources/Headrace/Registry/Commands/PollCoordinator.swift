/// Coalesces polls for other processes' commands: a poll requested while another one runs makes that one repeat.
struct PollCoordinator: Sendable {
    private var isRunning = false
    private var isRequested = false
    /// The callers that wait until the running poll has finished.
    private var waiting = Subscribers<Void>()

    /// Begins a poll and returns `nil` if none is running; the caller must then run it.
    ///
    /// Otherwise, makes the running poll repeat, and returns a stream that finishes when the poll ends. If the poll
    /// succeeds, the stream yields one element first.
    mutating func begin() -> AsyncStream<Void>? {
        guard request() else {
            isRunning = true
            return nil
        }
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        _ = waiting.add(continuation)
        return end
    }

    /// Makes the running poll repeat; returns `false` if none is running.
    mutating func request() -> Bool {
        if isRunning { isRequested = true }
        return isRunning
    }

    /// Ends the poll, and reports success to its waiting callers, unless another poll was requested meanwhile.
    /// - Returns: Whether the poll has ended; if not, the caller must poll again.
    mutating func finishUnlessRequested() -> Bool {
        guard isRequested else {
            end(succeeded: true)
            return true
        }
        isRequested = false
        return false
    }

    /// Ends the poll; if it did not succeed, the callers that wait for it must poll themselves.
    mutating func end(succeeded: Bool = false) {
        for continuation in waiting.removeAll() {
            if succeeded { continuation.yield() }
            continuation.finish()
        }
        self = PollCoordinator()
    }
}
