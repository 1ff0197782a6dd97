/// Decides which of some threads work, wait for jobs, or watch whether those that work are stuck.
///
/// As many work as there are places. Where no job is taken for a while although some are there, those that work are stuck, and
/// one more works until one of them is back.
struct ThreadPoolState<Job> {
    /// What a thread comes from.
    enum PreviousStep {
        case start
        /// A job, by its number.
        case job(Int)
        case wait
        case watch(takenCount: Int)
    }

    /// What a further thread is needed for.
    enum ThreadRequest {
        case none
        case wake
        case start
    }

    /// What a thread does next.
    enum Step {
        /// To run a job, which has this number.
        case run(Job, number: Int, ThreadRequest)
        case wait
        /// To wait, for a while only.
        case watch(takenCount: Int)
        case end
    }

    /// How many taken jobs are kept at the most, for none to be moved without need.
    private static var mostTaken: Int { 1024 }

    private let maxThreads: Int
    private let maxWorking: Int
    private var jobs: [Job] = []
    /// Jobs before this index are taken.
    private var next = 0
    /// How many jobs were taken ever; also the number of the last one.
    private var takenCount = 0
    /// For each thread that works beyond the places, the last job that was taken before it, rising: that job, or one before it,
    /// is stuck.
    private var stuckNumbers: [Int] = []
    /// The first thread starts with the places.
    private var threadCount = 1
    private var idleCount = 0
    /// How many jobs are taken and not back.
    private var runningCount = 0
    /// A thread was woken and has not looked for jobs yet; it will find all that come meanwhile.
    private var isWaking = true
    private var isWatched = false
    private var isStopping = false

    init(maxThreads: Int, maxWorking: Int) {
        self.maxThreads = maxThreads
        self.maxWorking = maxWorking
    }

    private var workingCount: Int { threadCount - idleCount }

    /// How many work at the most, unless more of them are stuck.
    var limit: Int { maxWorking + stuckNumbers.count }

    /// Takes a job; nil after the end.
    mutating func add(_ job: Job) -> ThreadRequest? {
        guard !isStopping else { return nil }
        jobs.append(job)
        return threadRequest()
    }

    /// A thread that was needed could not be started: the jobs wait for those there are.
    mutating func startFailed() {
        threadCount -= 1
        isWaking = false
    }

    /// No more jobs are taken; those that are there are run.
    mutating func stop() { isStopping = true }

    /// What a thread does that comes from `previous`.
    mutating func step(after previous: PreviousStep) -> Step {
        var isOverdue = false
        switch previous {
        case .job(let number):
            runningCount -= 1
            // Each number stands for a job of its own that is not back, so none outlasts the jobs.
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

    /// One thread at a time: each has the next woken where there is more to do, so that a burst of short jobs does not
    /// wake them all.
    private mutating func threadRequest() -> ThreadRequest {
        // Nobody would wait for the end of a thread that is started after the end of the others was asked for.
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
            } else if next >= Self.mostTaken, next * 2 >= jobs.count {
                jobs.removeFirst(next)
                next = 0
            }
        }
        return jobs[next]
    }
}
