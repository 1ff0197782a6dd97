import Dispatch
import Headrace
import HeadracePlatform

/// The signals a user sends, as streams; no code runs in a signal handler.
enum Signals {
    /// What a signal asks for.
    enum Request: Sendable, Equatable {
        case stop(Int32)
        /// The process was stopped and goes on: what the terminal shows is not ours any more.
        case redraw
    }

    /// What a signal ends a command with that has nothing else to tell.
    struct Stop: Error {
        let signal: Int32
    }

    private static let stopping = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// The number of descriptors that Dispatch opens for ``requests()``, and four for itself.
    static var descriptors: Int { stopping.count + 1 + 4 }
    private static let listener = Locked<AsyncStream<Request>.Continuation?>(nil)
    private static let sources = Locked<[any DispatchSourceSignal]>([])

    /// The signals from now on, which are taken over for the rest of the process's life; who had them before gets none any more.
    static func requests() -> AsyncStream<Request> {
        let (requests, continuation) = AsyncStream.makeStream(of: Request.self)
        listener.withLock { $0 = continuation }
        sources.withLock { if $0.isEmpty { $0 = takeOver() } }
        return requests
    }

    private static func takeOver() -> [any DispatchSourceSignal] {
        // A closed pipe is an error of the write, and no reason to die in the middle of a file.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "headrace-signals", qos: .userInitiated)
        let timeout = Patience()
        return (stopping + [SIGCONT]).compactMap { number in
            // What was ignored from the start, as by nohup, stays ignored.
            guard number == SIGCONT || !SignalAction.isIgnored(number) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            #if canImport(Darwin)
            // Once the source has it; one that came before that would be lost. On Linux, Dispatch sets its own handler.
            if number != SIGCONT { source.setRegistrationHandler { signal(number, SIG_IGN) } }
            #endif
            source.setEventHandler {
                let continuation = listener.withLock { $0 }
                guard number != SIGCONT else {
                    continuation?.yield(.redraw)
                    return
                }
                if timeout.isOver() { _exit(128 + number) }
                // Where nobody listens any more, it ends the process as it ends others.
                if case .terminated = continuation?.yield(.stop(number)) { _exit(128 + number) }
            }
            source.activate()
            return source
        }
    }

    /// Has SIGQUIT end the process, as it ends others; Swift's runtime takes it for a crash, tells one and goes on.
    static func restoreQuit() {
        if !SignalAction.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }
}
