import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// A dedicated thread for blocking work, which must not run on the cooperative pool.
final class WorkerThread: Sendable {
    private struct State {
        var handle: Handle?
        var isDone = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The system's thread handle, a pointer on some platforms; `Sendable`, because only the code that removes it from
    /// the state uses it.
    private struct Handle: @unchecked Sendable {
        let thread: pthread_t

        init?(_ thread: pthread_t?) {
            guard let thread else { return nil }
            self.thread = thread
        }

        /// Joins the thread.
        ///
        /// Apple's headers allow the call only in synchronous functions; it does not block, because the thread has
        /// finished.
        func join() { pthread_join(thread, nil) }
    }

    /// Wraps the body in an object, which can be passed through the thread's one untyped argument.
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    private final class Completion: Sendable {
        let state = Locked(State(), rank: .thread)

        func signal() {
            let waiters = state.withLock { state in
                state.isDone = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    private let completion = Completion()

    /// Starts a thread; throws the system's error if that fails.
    init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let completion = completion
        let start = Start {
            setName(name)
            body()
            completion.signal()
        }
        let context = Unmanaged.passRetained(start)
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let result = pthread_create(
            &thread,
            nil,
            { context in
                #if canImport(Darwin)
                Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
                #else
                if let context { Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body() }
                #endif
                return nil
            },
            context.toOpaque()
        )
        guard result == 0 else {
            context.release()
            throw SystemError(errno: result)
        }
        let handle = Handle(thread)
        completion.state.withLock { $0.handle = handle }
    }

    /// Suspends until the body has returned, then joins the thread without a noticeable wait.
    func join() async {
        await withCheckedContinuation { continuation in
            let isDone = completion.state.withLock { state in
                if !state.isDone { state.waiters.append(continuation) }
                return state.isDone
            }
            if isDone { continuation.resume() }
        }
        if let handle = completion.state.withLock({ $0.handle.take() }) { handle.join() }
    }

    deinit {
        if let handle = completion.state.withLock({ $0.handle.take() }) { pthread_detach(handle.thread) }
    }
}

#if canImport(Darwin)
private func setName(_ name: String) { pthread_setname_np(name) }
#else
private func setName(_ name: String) { hr_name_thread(name) }
#endif
