import Dispatch

/// A task executor of a few threads of our own, where tasks may block in file calls.
///
/// The cooperative pool has as many threads as the machine has cores; one blocked in a slow write would be missing to
/// every other task of the process.
final class BlockingExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Jobs before this index are taken.
        var next = 0
        var threads: [WorkerThread] = []
        var idleThreads = 0
        /// A thread was woken and has not looked for jobs yet; it will find all that come meanwhile.
        var isWaking = false
        var isStopping = false

        var hasJobs: Bool { next < jobs.count }

        mutating func takeJob() -> UnownedJob {
            defer {
                next += 1
                if next == jobs.count {
                    jobs.removeAll(keepingCapacity: true)
                    next = 0
                }
            }
            return jobs[next]
        }

        /// True when a thread has to be woken for the jobs there are.
        ///
        /// One at a time: each wakes the next where there is more to do, so that a burst of short jobs does not wake
        /// them all.
        mutating func wakesThread() -> Bool {
            guard hasJobs, idleThreads > 0, !isWaking else { return false }
            isWaking = true
            return true
        }
    }

    private final class Shared: Sendable {
        let state = Locked(State())
        /// What idle threads wait for.
        let wake = DispatchSemaphore(value: 0)
    }

    private let name: String
    private let maxThreads: Int
    private let shared = Shared()

    /// Starts the first thread; the others come when there is work for them.
    init(name: String, maxThreads: Int) throws(DownloadError) {
        self.name = name
        self.maxThreads = maxThreads
        do {
            try addThread()
        } catch {
            throw DownloadError(.fileSystem, "The thread for file calls could not be started: \(error).")
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (wakes, lacksThread, isStopping) = shared.state.withLock { state in
            guard !state.isStopping else { return (false, false, true) }
            state.jobs.append(job)
            let lacksThread = state.idleThreads == 0 && state.threads.count < maxThreads
            return (state.wakesThread(), lacksThread, false)
        }
        // What comes after the end is a file call or two, for which no thread is kept.
        if isStopping { globalConcurrentExecutor.enqueue(job) }
        if wakes { shared.wake.signal() }
        // Where there can be no further thread, the job waits for those there are.
        if lacksThread { try? addThread() }
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

    @discardableResult
    private func stop() -> [WorkerThread] {
        let threads = shared.state.withLock { state in
            state.isStopping = true
            return state.threads
        }
        for _ in threads { shared.wake.signal() }
        return threads
    }

    private func addThread() throws(SystemError) {
        let shared = shared
        let executor = asUnownedTaskExecutor()
        try shared.state.withLock { state throws(SystemError) in
            guard state.threads.count < maxThreads, !state.isStopping else { return }
            state.threads.append(try WorkerThread(name: name) { Self.work(shared, executor) })
        }
    }

    private static func work(_ shared: Shared, _ executor: UnownedTaskExecutor) {
        var wasIdle = false
        while true {
            let (job, wakesNext, isStopping) = shared.state.withLock { state in
                if wasIdle {
                    state.idleThreads -= 1
                    state.isWaking = false
                }
                guard state.hasJobs else {
                    if !state.isStopping { state.idleThreads += 1 }
                    return (UnownedJob?.none, false, state.isStopping)
                }
                let job = state.takeJob()
                return (job, state.wakesThread(), false)
            }
            if wakesNext { shared.wake.signal() }
            wasIdle = job == nil
            if let job {
                job.runSynchronously(on: executor)
            } else if isStopping {
                return
            } else {
                shared.wake.wait()
            }
        }
    }
}
