import Dispatch
import Headrace
import HeadracePlatform

/// The signals that users send, as a stream; no code runs in a signal handler.
enum Signals {
    enum Request: Sendable, Equatable {
        case stop(Int32)
        /// Redraw the progress: the process was continued after a stop, and other programs may have written meanwhile.
        case redraw
    }

    /// Thrown by a command that a signal stopped and that has nothing else to report.
    struct Stop: Error {
        let signal: Int32
    }

    private static let stopping = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// The number of descriptors that Dispatch opens for ``requests()``, including four for itself.
    static var descriptors: Int { stopping.count + 1 + 4 }
    /// The streams of ``requests()``, the latest last; the next signal removes those that have lost their reader.
    private static let streams = Locked<[AsyncStream<Request>.Continuation]>([])
    /// The registrations that are under way; a signal that arrives before its registration ends the process at once.
    static let registrations = DispatchGroup()
    private static let sources = Locked<[any DispatchSourceSignal]>([])

    /// Starts handling the signals, and returns a stream of those that arrive from now on.
    ///
    /// The signals are handled until the process exits. Only the latest stream that still has a reader receives them.
    static func requests() -> AsyncStream<Request> {
        let (requests, continuation) = AsyncStream.makeStream(of: Request.self)
        streams.withLock { $0.append(continuation) }
        sources.withLock { if $0.isEmpty { $0 = makeSources() } }
        return requests
    }

    private static func makeSources() -> [any DispatchSourceSignal] {
        // Writing to a closed pipe should fail, not kill the process in the middle of a file.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "headrace-signals", qos: .userInitiated)
        let detector = SecondStopDetector()
        return (stopping + [SIGCONT]).compactMap { number in
            // A signal that is ignored from the start, as with nohup, stays ignored.
            guard number == SIGCONT || !SignalAction.isIgnored(number) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            registrations.enter()
            source.setRegistrationHandler {
                #if canImport(Darwin)
                // Ignoring the signal before the source is active could lose one. On Linux, Dispatch handles it.
                if number != SIGCONT { signal(number, SIG_IGN) }
                #endif
                registrations.leave()
            }
            source.setEventHandler {
                guard number != SIGCONT else {
                    _ = pass(.redraw)
                    return
                }
                // Without a reader, the signal ends the process as usual.
                if detector.isSecondStop() || !pass(.stop(number)) { _exit(128 + number) }
            }
            source.activate()
            return source
        }
    }

    /// Passes a request to the latest stream that still has a reader; returns `false` if there is none.
    ///
    /// Called on one queue only.
    private static func pass(_ request: Request) -> Bool {
        while let (index, stream) = streams.withLock({ streams in streams.last.map { (streams.count - 1, $0) } }) {
            guard case .terminated = stream.yield(request) else { return true }
            streams.withLock { _ = $0.remove(at: index) }
        }
        return false
    }

    /// Restores SIGQUIT's default action, because the Swift runtime would report the signal as a crash and continue.
    ///
    /// Does nothing if the process was started with the signal ignored.
    static func restoreQuit() {
        if !SignalAction.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }
}
