import HeadraceTestSupport
import Testing

/// Whole managers on simulated machines; `headrace-bench simulate` runs more seeds.
@Suite(.timeLimit(.minutes(4)), .computing)
struct SimulationTests {
    @Test func `whatever servers, disks and processes do, the queue and its files stay right`() {
        for seed in UInt64(1)...40 {
            let run = Simulation.run(seed: seed)
            let trace = run.trace.joined(separator: "\n")
            #expect(run.violations.isEmpty, "headrace-bench simulate --seed \(seed) --seeds 1\n\(trace)")
        }
    }

    @Test func `the same seed gives the same run`() {
        for seed in UInt64(1)...5 { #expect(Simulation.run(seed: seed) == Simulation.run(seed: seed)) }
        #expect(Simulation.run(seed: 4).trace != Simulation.run(seed: 5).trace)
    }

    @Test func `a file of two versions is found`() {
        #expect(
            (UInt64(1)...60).contains { seed in
                Simulation.run(seed: seed, hidesChanges: true).violations.contains { $0.contains("is of no version") }
            }
        )
    }
}
