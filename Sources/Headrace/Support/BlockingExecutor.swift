import Dispatch
import Synchronization

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
        var isStopping = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
        /// Counts the jobs, and at the end one more for each thread.
        let available = DispatchSemaphore(value: 0)
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
        let needsThread = shared.state.withLock { state in
            state.jobs.append(job)
            let waitingJobs = state.jobs.count - state.next
            return waitingJobs > state.idleThreads && state.threads.count < maxThreads && !state.isStopping
        }
        // Where there can be no further thread, the job waits for those there are.
        if needsThread { try? addThread() }
        shared.available.signal()
    }

    /// Lets the threads end when nothing is left to run, and waits for that.
    func shutdown() async {
        for thread in stop() { await thread.join() }
    }

    deinit {
        _ = stop()
    }

    @discardableResult
    private func stop() -> [WorkerThread] {
        let threads = shared.state.withLock { state in
            state.isStopping = true
            defer { state.threads = [] }
            return state.threads
        }
        for _ in threads { shared.available.signal() }
        return threads
    }

    private func addThread() throws(SystemError) {
        let shared = shared
        let executor = asUnownedTaskExecutor()
        try shared.state.withLock { state throws(SystemError) in
            guard state.threads.count < maxThreads else { return }
            state.threads.append(try WorkerThread(name: name) { Self.work(shared, executor) })
        }
    }

    private static func work(_ shared: Shared, _ executor: UnownedTaskExecutor) {
        while true {
            shared.state.withLock { $0.idleThreads += 1 }
            shared.available.wait()
            let job: UnownedJob? = shared.state.withLock { state in
                state.idleThreads -= 1
                guard state.next < state.jobs.count else { return nil }
                let job = state.jobs[state.next]
                state.next += 1
                if state.next == state.jobs.count {
                    state.jobs.removeAll(keepingCapacity: true)
                    state.next = 0
                }
                return job
            }
            guard let job else { return }
            job.runSynchronously(on: executor)
        }
    }
}
