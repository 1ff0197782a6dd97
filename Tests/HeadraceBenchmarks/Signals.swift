import Headrace
import HeadracePlatform

/// Receives signals by waiting for them, without handlers.
///
/// The process blocks the signals that end it, and receives them when it waits for a child anyway. An interrupt
/// therefore becomes a thrown error, and ordinary `defer` blocks stop the server and remove the files.
enum Signals {
    /// The signals that end a run, except those that the caller ignores (`nohup`).
    private static let ending = [SIGINT, SIGTERM, SIGHUP].filter { !SignalAction.isIgnored($0) }

    /// Blocks the signals; must be called before the first child is spawned.
    static func block() {
        // Darwin drops a signal that is ignored by default even while it is blocked; a handler makes it stay pending.
        signal(SIGCHLD) { _ in }
        var all = makeSet(of: ending + [SIGCHLD, SIGALRM])
        sigprocmask(SIG_BLOCK, &all, nil)
    }

    /// Waits until a child changes its state, the alarm expires or a signal ends the run.
    static func wait() throws {
        var all = makeSet(of: ending + [SIGCHLD, SIGALRM])
        var received: Int32 = 0
        guard sigwait(&all, &received) == 0 else { return }
        if ending.contains(received) { throw BenchmarkError.interrupted(by: received) }
    }

    /// Throws if the run was interrupted since the last wait.
    ///
    /// For loops that do not wait.
    static func check() throws {
        var pending = sigset_t()
        sigpending(&pending)
        for signal in ending where sigismember(&pending, signal) == 1 {
            throw BenchmarkError.interrupted(by: signal)
        }
    }

    /// The mask of a child, which starts with no blocked signals.
    static var nothing: sigset_t { makeSet(of: []) }

    /// The signals whose dispositions this process changes and a child must not inherit.
    static var resettable: sigset_t { makeSet(of: [SIGPIPE, SIGCHLD]) }

    private static func makeSet(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
