import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ThreadPoolStateTests {
    private enum Thread {
        case woken(ThreadPoolState<Int>.PreviousStep)
        case running(Int, number: Int)
        case waiting
        case watching(takenCount: Int)
        case ended
    }

    /// Simulated threads that follow the pool's instructions in any order.
    private struct Crew {
        var pool: ThreadPoolState<Int>
        var threads: [Thread] = []
        var jobsRun: [Int] = []
        /// Wakes that no waiting thread has received yet.
        var wakes = 0

        init(maxThreads: Int, maxWorking: Int) {
            pool = ThreadPoolState(maxThreads: maxThreads, maxWorking: maxWorking)
            threads.append(.woken(.start))
        }

        var runningCount: Int { threads.count { if case .running = $0 { true } else { false } } }

        func isRunning(_ job: Int, in index: Int) -> Bool {
            if case .running(job, _) = threads[index] { true } else { false }
        }

        mutating func add(_ job: Int) -> Bool {
            guard let threadRequest = pool.add(job) else { return false }
            perform(threadRequest)
            return true
        }

        private mutating func perform(_ threadRequest: ThreadPoolState<Int>.ThreadRequest) {
            switch threadRequest {
            case .none: break
            case .wake: wakes += 1
            case .start: threads.append(.woken(.start))
            }
        }

        mutating func stop() {
            pool.stop()
            wakes += threads.count
        }

        /// Advances a thread; returns `false` if it can only continue to wait or work.
        mutating func go(_ index: Int, timeIsOver: Bool, jobEnds: Bool) -> Bool {
            switch threads[index] {
            case .ended: return false
            case .woken(let previous): return step(index, previous)
            case .running(let job, let number):
                guard jobEnds else { return false }
                jobsRun.append(job)
                return step(index, .job(number))
            case .waiting:
                guard wakes > 0 else { return false }
                wakes -= 1
                return step(index, .wait)
            case .watching(let takenCount):
                guard wakes > 0 || timeIsOver else { return false }
                if wakes > 0 { wakes -= 1 }
                return step(index, .watch(takenCount: takenCount))
            }
        }

        private mutating func step(_ index: Int, _ previous: ThreadPoolState<Int>.PreviousStep) -> Bool {
            switch pool.step(after: previous) {
            case .run(let job, let number, let threadRequest):
                threads[index] = .running(job, number: number)
                perform(threadRequest)
            case .wait: threads[index] = .waiting
            case .watch(let takenCount): threads[index] = .watching(takenCount: takenCount)
            case .end: threads[index] = .ended
            }
            return true
        }
    }

    @Test func `a burst of jobs starts the working threads and one that watches`() {
        var crew = Crew(maxThreads: 4, maxWorking: 2)
        for job in 0..<10 { _ = crew.add(job) }
        for _ in 0..<4 {
            for index in crew.threads.indices { _ = crew.go(index, timeIsOver: false, jobEnds: false) }
        }
        #expect(crew.runningCount == 2)
        #expect(crew.threads.count <= 3)
    }

    @Test func `if the working threads are stuck, one more starts at a time, up to the maximum`() {
        var crew = Crew(maxThreads: 4, maxWorking: 2)
        var running: [Int] = []
        for job in 0..<10 {
            _ = crew.add(job)
            for index in crew.threads.indices { _ = crew.go(index, timeIsOver: true, jobEnds: false) }
            running.append(crew.runningCount)
        }
        #expect(running.last == 4)
        #expect(zip(running, running.dropFirst()).allSatisfy { $1 - $0 <= 1 })
    }

    /// Regression: while one job was stuck, each other job waited until the watching thread lost patience.
    @Test func `beside a stuck thread another one works without delay until it returns`() {
        var crew = Crew(maxThreads: 4, maxWorking: 1)
        func settle(stuck: [Int], timeIsOver: Bool = false) {
            var hasProgress = true
            while hasProgress {
                hasProgress = false
                for index in crew.threads.indices {
                    let jobEnds = stuck.allSatisfy { !crew.isRunning($0, in: index) }
                    if crew.go(index, timeIsOver: timeIsOver, jobEnds: jobEnds) { hasProgress = true }
                }
            }
        }
        _ = crew.add(0)
        _ = crew.add(1)
        settle(stuck: [0])
        #expect(crew.jobsRun == [])
        settle(stuck: [0], timeIsOver: true)
        #expect(crew.jobsRun == [1])
        for job in 2..<6 {
            _ = crew.add(job)
            settle(stuck: [0])
        }
        #expect(crew.jobsRun == [1, 2, 3, 4, 5])
        #expect(crew.pool.limit == 2)
        settle(stuck: [])
        #expect(crew.jobsRun.last == 0)
        #expect(crew.pool.limit == 1)
        // A helper does not stay longer than the thread it stands in for.
        _ = crew.add(6)
        _ = crew.add(7)
        settle(stuck: [6])
        #expect(crew.jobsRun.last == 0)
    }

    @Test(arguments: 0..<20)
    func `in any order of events each job runs once and all threads end`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let maxWorking = Int.random(in: 1...3, using: &random)
        var crew = Crew(maxThreads: Int.random(in: maxWorking...6, using: &random), maxWorking: maxWorking)
        var added = 0
        for _ in 0..<5000 {
            if Int.random(in: 0..<3, using: &random) == 0, crew.add(added) { added += 1 }
            _ = crew.go(
                Int.random(in: crew.threads.indices, using: &random),
                timeIsOver: Int.random(in: 0..<50, using: &random) == 0,
                jobEnds: Bool.random(using: &random)
            )
            #expect(crew.runningCount <= crew.pool.limit)
        }
        crew.stop()
        let threadCount = crew.threads.count
        let takesMore = crew.add(-1)
        #expect(!takesMore)
        // No more time passes, so no thread may depend on it to end.
        while crew.threads.indices.contains(where: { crew.go($0, timeIsOver: false, jobEnds: true) }) {}
        #expect(crew.jobsRun.sorted() == Array(0..<added))
        #expect(crew.pool.limit == maxWorking)
        #expect(crew.threads.count == threadCount)
        #expect(crew.threads.allSatisfy { if case .ended = $0 { true } else { false } })
    }
}
