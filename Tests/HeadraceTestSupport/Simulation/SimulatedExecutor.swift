import Headrace

/// Runs all tasks of a simulation on the thread that calls ``runNext()``, in an order that a seed determines.
package final class SimulatedExecutor: TaskExecutor {
    /// The choice of the next of several ready jobs.
    private enum Order: UInt64, CaseIterable {
        /// Any job.
        case any
        /// Mostly the oldest one, as a real executor would.
        case mostlyOldest
        /// Mostly the newest one, so that old jobs are late.
        case mostlyNewest
    }

    private struct State {
        var ready: [UnownedJob] = []
        var random: SeededRandom
        let order: Order

        mutating func next() -> UnownedJob? {
            guard ready.count > 1 else { return ready.popLast() }
            let isAny = order == .any || random.next() % 4 == 0
            if isAny { return ready.remove(at: Int(random.next() % UInt64(ready.count))) }
            return order == .mostlyOldest ? ready.removeFirst() : ready.removeLast()
        }
    }

    private let state: Locked<State>

    /// Creates an executor.
    /// - Parameter seed: Determines the order of the jobs.
    package init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let order = Order.allCases[Int(random.next() % 3)]
        state = Locked(State(random: random, order: order), rank: .executor)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.ready.append(job) }
    }

    /// Runs one of the ready jobs; returns `false` if there is none.
    package func runNext() -> Bool {
        guard let job = state.withLock({ $0.next() }) else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}
