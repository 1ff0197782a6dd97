import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The signals a user sends, as a stream; no code runs in a signal handler.
struct Signals {
    /// What a signal asks for.
    enum Request: Sendable, Equatable {
        case stop(Int32)
        /// The process was stopped and goes on: what the terminal shows is not ours any more.
        case redraw
    }

    private static let stopping = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    let requests: AsyncStream<Request>
    private let sources: [any DispatchSourceSignal]

    /// Takes the signals over for the rest of the process's life.
    init() {
        // A closed pipe is an error of the write, and no reason to die in the middle of a file.
        signal(SIGPIPE, SIG_IGN)
        let (requests, continuation) = AsyncStream.makeStream(of: Request.self)
        let queue = DispatchQueue(label: "headrace-signals", qos: .userInitiated)
        let patience = Patience()
        self.requests = requests
        sources = (Self.stopping + [SIGCONT]).compactMap { number in
            // What was ignored from the start, as by nohup, stays ignored.
            guard number == SIGCONT || !Self.ignore(number) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                guard number != SIGCONT else {
                    continuation.yield(.redraw)
                    return
                }
                if patience.isOver() { _exit(128 + number) }
                continuation.yield(.stop(number))
            }
            source.activate()
            return source
        }
    }

    /// Has SIGQUIT end the process, as it ends others; Swift's runtime takes it for a crash, tells one and goes on.
    static func restoreQuit() {
        if ignore(SIGQUIT) { return }
        signal(SIGQUIT, SIG_DFL)
    }

    /// Takes the default action away; true where the signal was ignored before.
    private static func ignore(_ number: Int32) -> Bool {
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
