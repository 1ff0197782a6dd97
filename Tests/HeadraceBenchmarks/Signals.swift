import Headrace
import HeadracePlatform

/// Signals taken by waiting for them, not by handlers.
///
/// The process blocks those that end it and reads them where it waits anyway. So an interrupt arrives as a thrown error,
/// and the ordinary `defer`s stop the server and remove the files.
enum Signals {
    /// The signals that end a run, less those that the caller chose to ignore (`nohup`).
    private static let ending = [SIGINT, SIGTERM, SIGHUP].filter { !SignalAction.isIgnored($0) }

    /// Must be called before the first child is spawned.
    static func block() {
        // Darwin drops a signal whose default is "ignore" even while blocked; a handler makes it stay pending.
        signal(SIGCHLD) { _ in }
        var all = makeSet(of: ending + [SIGCHLD, SIGALRM])
        sigprocmask(SIG_BLOCK, &all, nil)
    }

    /// Suspends until a child changed, the alarm rang or somebody wants the run to end.
    static func wait() throws {
        var all = makeSet(of: ending + [SIGCHLD, SIGALRM])
        var received: Int32 = 0
        guard sigwait(&all, &received) == 0 else { return }
        if ending.contains(received) { throw BenchmarkError.interrupted(by: received) }
    }

    /// Throws when the run was interrupted since the last wait.
    ///
    /// For loops that wait for nothing.
    static func check() throws {
        var pending = sigset_t()
        sigpending(&pending)
        for signal in ending where sigismember(&pending, signal) == 1 {
            throw BenchmarkError.interrupted(by: signal)
        }
    }

    /// The mask of a child, which starts with nothing blocked.
    static var nothing: sigset_t { makeSet(of: []) }

    /// The signals whose dispositions are ours and not for a child to inherit.
    static var resettable: sigset_t { makeSet(of: [SIGPIPE, SIGCHLD]) }

    private static func makeSet(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
