import Dispatch

/// A task executor with a few threads of its own, on which tasks may block in file calls.
///
/// The cooperative pool has one thread per core; a thread that is blocked in a slow write could not run any other task
/// of the process.
final class BlockingExecutor: TaskExecutor {
    /// The time in milliseconds after which one more thread runs jobs if no thread has taken a queued job meanwhile.
    private static let idleMilliseconds = 4

    private struct State {
        var pool: ThreadPoolState<UnownedJob>
        var threads: [WorkerThread] = []
    }

    private final class Shared: Sendable {
        let state: Locked<State>
        /// Signaled to wake an idle thread.
        let wake = DispatchSemaphore(value: 0)
        let name: String

        init(_ state: sending State, name: String) {
            self.state = Locked(state, rank: .executor)
            self.name = name
        }

        /// Starts another thread if `threadRequest` says so; returns whether an idle thread must be woken.
        ///
        /// The caller wakes that thread once it has released the lock, since the thread takes the lock at once.
        func perform(
            _ threadRequest: ThreadPoolState<UnownedJob>.ThreadRequest,
            _ state: inout State,
            _ executor: UnownedTaskExecutor
        ) -> Bool {
            guard threadRequest == .start else { return threadRequest == .wake }
            do {
                try addThread(to: &state, executor)
            } catch {
                state.pool.startFailed()
            }
            return false
        }

        func addThread(to state: inout State, _ executor: UnownedTaskExecutor) throws(SystemError) {
            state.threads.append(try WorkerThread(name: name) { self.work(executor) })
        }

        private func work(_ executor: UnownedTaskExecutor) {
            var previous = ThreadPoolState<UnownedJob>.PreviousStep.start
            while true {
                let (step, wakesOther) = state.withLock { state in
                    let step = state.pool.step(after: previous)
                    guard case .run(_, _, let threadRequest) = step else { return (step, false) }
                    return (step, perform(threadRequest, &state, executor))
                }
                if wakesOther { wake.signal() }
                switch step {
                case .run(let job, let number, _):
                    job.runSynchronously(on: executor)
                    previous = .job(number)
                case .wait:
                    wake.wait()
                    previous = .wait
                case .watch(let takenCount):
                    _ = wake.wait(timeout: .now() + .milliseconds(idleMilliseconds))
                    previous = .watch(takenCount: takenCount)
                case .end:
                    return
                }
            }
        }
    }

    private let shared: Shared
    /// The executor for jobs that arrive after the threads were stopped.
    private let successor: any TaskExecutor

    /// Starts the first thread; more are added when there is work for them.
    ///
    /// At most `maxWorking` threads run jobs at once, because more would only contend with each other, for example for
    /// the lock of a directory. Threads that are stuck in slow calls do not count. `maxThreads` limits all threads,
    /// including the stuck ones. Throws if the system cannot start the first thread.
    init(name: String, maxThreads: Int, maxWorking: Int) throws(SystemError) {
        shared = Shared(State(pool: ThreadPoolState(maxThreads: maxThreads, maxWorking: maxWorking)), name: name)
        successor = globalConcurrentExecutor
        let executor = asUnownedTaskExecutor()
        try shared.state.withLock { state throws(SystemError) in try shared.addThread(to: &state, executor) }
    }

    /// Creates an executor that has no threads and runs all its jobs on `executor`, for example that of a simulation.
    init(without name: String, on executor: any TaskExecutor) {
        var pool = ThreadPoolState<UnownedJob>(maxThreads: 0, maxWorking: 0)
        pool.stop()
        shared = Shared(State(pool: pool), name: name)
        successor = executor
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // Once the lock is released, the job may have run and its task may have released the executor.
        let (job, executor, shared, successor) = (UnownedJob(job), asUnownedTaskExecutor(), shared, successor)
        let wakesThread: Bool? = shared.state.withLock { state in
            state.pool.add(job).map { shared.perform($0, &state, executor) }
        }
        // After the shutdown, only a few file calls follow, which do not justify a thread.
        guard let wakesThread else { return successor.enqueue(job) }
        if wakesThread { shared.wake.signal() }
    }

    /// Stops the threads once all jobs have run, and waits for them to finish.
    func shutdown() async {
        for thread in stop() { await thread.join() }
    }

    /// Runs a blocking function on a thread of the executor, and suspends the calling task until it has returned.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withTaskExecutorPreference(self) {
            Result { () throws(Failure) in try body() }
        }
        return try result.get()
    }

    deinit {
        _ = stop()
    }

    private func stop() -> [WorkerThread] {
        let threads = shared.state.withLock { state in
            state.pool.stop()
            return state.threads
        }
        for _ in threads { shared.wake.signal() }
        return threads
    }
}
