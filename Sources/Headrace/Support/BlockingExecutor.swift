import Dispatch

/// A task executor of a few threads of our own, where tasks may block in file calls.
///
/// The cooperative pool has as many threads as the machine has cores; one blocked in a slow write would be missing to
/// every other task of the process.
final class BlockingExecutor: TaskExecutor {
    /// How long jobs wait without one being taken until a further thread works.
    private static let idleMilliseconds = 4

    private struct State {
        var pool: ThreadPoolState<UnownedJob>
        var threads: [WorkerThread] = []
    }

    private final class Shared: Sendable {
        let state: Locked<State>
        /// What idle threads wait for.
        let wake = DispatchSemaphore(value: 0)
        let name: String

        init(_ state: sending State, name: String) {
            self.state = Locked(state)
            self.name = name
        }

        /// Has a further thread work where one is needed.
        func perform(
            _ threadRequest: ThreadPoolState<UnownedJob>.ThreadRequest,
            _ state: inout State,
            _ executor: UnownedTaskExecutor
        ) {
            switch threadRequest {
            case .none: break
            case .wake: wake.signal()
            case .start:
                do {
                    try addThread(to: &state, executor)
                } catch {
                    state.pool.startFailed()
                }
            }
        }

        func addThread(to state: inout State, _ executor: UnownedTaskExecutor) throws(SystemError) {
            state.threads.append(try WorkerThread(name: name) { self.work(executor) })
        }

        private func work(_ executor: UnownedTaskExecutor) {
            var previous = ThreadPoolState<UnownedJob>.PreviousStep.start
            while true {
                let step = state.withLock { state in
                    let step = state.pool.step(after: previous)
                    if case .run(_, _, let threadRequest) = step { perform(threadRequest, &state, executor) }
                    return step
                }
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

    /// Starts the first thread; the others come when there is work for them.
    ///
    /// At most `maxWorking` of them work at once, beside those that are stuck in slow calls: more than there are cores only
    /// get into each other's way, for example at the lock of a directory.
    init(name: String, maxThreads: Int, maxWorking: Int) throws(DownloadError) {
        shared = Shared(State(pool: ThreadPoolState(maxThreads: maxThreads, maxWorking: maxWorking)), name: name)
        do {
            let executor = asUnownedTaskExecutor()
            try shared.state.withLock { state throws(SystemError) in try shared.addThread(to: &state, executor) }
        } catch {
            throw DownloadError(.fileSystem, "The thread for file calls could not be started: \(error).")
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let (job, executor) = (UnownedJob(job), asUnownedTaskExecutor())
        // From the end of the lock on, the job may have run, and its task have let go of the executor.
        let isTaken = shared.state.withLock { state in
            guard let threadRequest = state.pool.add(job) else { return false }
            shared.perform(threadRequest, &state, executor)
            return true
        }
        // What comes after the end is a file call or two, for which no thread is kept.
        if !isTaken { globalConcurrentExecutor.enqueue(job) }
    }

    /// Lets the threads end when nothing is left to run, and waits for that.
    func shutdown() async {
        for thread in stop() { await thread.join() }
    }

    /// Runs what blocks on a thread of the executor.
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
