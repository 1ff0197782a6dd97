/// Decides for each thread of a pool whether it runs jobs, waits for jobs, or checks whether the running threads are
/// stuck.
///
/// Up to `maxWorking` threads run jobs. If jobs are queued and no thread takes one for a while, the running jobs count
/// as stuck, and one more thread runs jobs until one of the stuck jobs returns.
struct ThreadPoolState<Job> {
    /// The step that a thread has just finished.
    enum PreviousStep {
        case start
        /// A job with this number has returned.
        case job(Int)
        case wait
        case watch(takenCount: Int)
    }

    /// Whether the caller must wake an idle thread or start a new one.
    enum ThreadRequest {
        case none
        case wake
        case start
    }

    /// The next step of a thread.
    enum Step {
        /// First wake or start another thread, if requested; then run the job, and report `number` when it has ended.
        case run(Job, number: Int, ThreadRequest)
        case wait
        /// Wait for a limited time, then report `takenCount`, which shows whether any job was taken meanwhile.
        case watch(takenCount: Int)
        case end
    }

    /// The minimum number of taken jobs that are removed at once, so that the remaining jobs are rarely moved.
    private static var minRemovedCount: Int { 1024 }

    private let maxThreads: Int
    private let maxWorking: Int
    private var jobs: [Job] = []
    /// The index of the next job to take; the jobs before it have been taken.
    private var next = 0
    /// The number of jobs taken so far, which is also the number of the job that was taken last.
    private var takenCount = 0
    /// For each thread beyond `maxWorking`, the number of the last job that was taken before that thread was added.
    ///
    /// That job or an earlier one is stuck. The numbers are in ascending order.
    private var stuckNumbers: [Int] = []
    /// The number of threads in the pool; the first thread starts together with the pool.
    private var threadCount = 1
    private var idleCount = 0
    /// The number of jobs that have been taken and have not returned.
    private var runningCount = 0
    /// Whether a thread that was woken or started has not checked for jobs yet; its check will find all jobs queued
    /// until then.
    private var isWaking = true
    private var isWatched = false
    private var isStopping = false

    init(maxThreads: Int, maxWorking: Int) {
        self.maxThreads = maxThreads
        self.maxWorking = maxWorking
    }

    private var workingCount: Int { threadCount - idleCount }

    /// The maximum number of working threads, including those that are stuck.
    var limit: Int { maxWorking + stuckNumbers.count }

    /// Queues a job and returns whether the caller must start or wake a thread for it; after ``stop()``, returns `nil`
    /// without queueing the job.
    mutating func add(_ job: Job) -> ThreadRequest? {
        guard !isStopping else { return nil }
        jobs.append(job)
        return threadRequest()
    }

    /// Records that the system could not start a thread; the queued jobs wait for the existing threads.
    mutating func startFailed() {
        threadCount -= 1
        isWaking = false
    }

    /// Rejects further jobs; those already queued still run.
    mutating func stop() { isStopping = true }

    /// Records that a thread has finished `previous`, and returns its next step; a job to run is taken from the queue.
    mutating func step(after previous: PreviousStep) -> Step {
        var isOverdue = false
        switch previous {
        case .job(let number):
            runningCount -= 1
            // For each number, there is a different running job that removes it when it returns. So no number is left
            // once all jobs have returned.
            if let index = stuckNumbers.firstIndex(where: { $0 >= number }) { stuckNumbers.remove(at: index) }
        case .start: isWaking = false
        case .wait:
            idleCount -= 1
            isWaking = false
        case .watch(let seenCount):
            idleCount -= 1
            isWaking = false
            isWatched = false
            isOverdue = takenCount == seenCount
        }
        guard next < jobs.count else {
            guard !isStopping else { return .end }
            idleCount += 1
            return .wait
        }
        if isOverdue, runningCount >= limit { stuckNumbers.append(takenCount) }
        if workingCount <= limit || isOverdue || isStopping {
            let job = takeJob()
            return .run(job, number: takenCount, threadRequest())
        }
        idleCount += 1
        guard !isWatched else { return .wait }
        isWatched = true
        return .watch(takenCount: takenCount)
    }

    /// Returns whether the caller must start or wake a thread, and counts that thread as waking.
    ///
    /// If jobs remain after that thread has taken one, it requests another thread. So a burst of short jobs does not
    /// wake all threads.
    private mutating func threadRequest() -> ThreadRequest {
        // A thread that starts after `stop()` would never be joined.
        guard !isStopping, next < jobs.count, !isWaking, workingCount < limit || !isWatched else { return .none }
        guard idleCount > 0 || threadCount < maxThreads else { return .none }
        isWaking = true
        guard idleCount == 0 else { return .wake }
        threadCount += 1
        return .start
    }

    private mutating func takeJob() -> Job {
        defer {
            takenCount += 1
            runningCount += 1
            next += 1
            if next == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                next = 0
            } else if next >= Self.minRemovedCount, next * 2 >= jobs.count {
                jobs.removeFirst(next)
                next = 0
            }
        }
        return jobs[next]
    }
}
