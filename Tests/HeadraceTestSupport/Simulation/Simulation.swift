import Headrace
import HeadracePlatform

/// A whole download manager on a simulated machine: a seed determines its requests, servers, faults and the order of all tasks.
package struct Simulation: Sendable {
    /// The result of a run.
    package struct Outcome: Sendable, Equatable {
        /// The violated invariants; empty if the run was correct.
        package var violations: [String]
        /// The requests, commands, events and disk errors, with their virtual times.
        package var trace: [String]
        /// The number of jobs that were run.
        package var jobs: Int
        /// The virtual time at the end.
        package var time: Duration
    }

    /// More jobs than any correct run needs.
    private static let mostJobs = 2_000_000
    /// More virtual time than any correct run needs.
    private static let longestTime = Duration.seconds(1_000_000)

    /// Runs a simulation on the calling thread, which it blocks.
    /// - Parameters:
    ///   - seed: Determines the run.
    ///   - hidesChanges: Whether the servers change files without changing validators, which must lead to wrong files.
    /// - Returns: The violations and the trace.
    package static func run(seed: UInt64, hidesChanges: Bool = false) -> Outcome {
        let machine = SimulatedMachine(seed: seed, hidesChanges: hidesChanges)
        let isDone = Locked(false)
        // Not a child task, since this function is synchronous: it is the loop that runs the tasks.
        Task.detached(executorPreference: machine.executor) {
            var user = SimulatedUser(machine, seed: seed)
            await user.run()
            isDone.withLock { $0 = true }
        }
        var jobs = 0
        while !isDone.withLock({ $0 }) {
            if machine.executor.runNext() {
                jobs += 1
                if jobs > mostJobs {
                    machine.log.violation("more than \(mostJobs) jobs")
                    break
                }
            } else if let next = machine.clock.deadlines.first, next.offset < longestTime {
                machine.clock.advance(by: machine.clock.now.duration(to: next))
            } else {
                machine.log.violation("no task is ready, and none waits for the clock")
                break
            }
        }
        while machine.executor.runNext() {}
        return Outcome(
            violations: machine.log.violations,
            trace: machine.log.lines,
            jobs: jobs,
            time: machine.clock.now.offset
        )
    }
}
