import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

private let wantedSeeds = ProcessInfo.processInfo.environment["HEADRACE_COMBINATIONS"]

/// Random combinations of server behavior and library features, most of which no other test covers.
///
/// `HEADRACE_COMBINATIONS=17` repeats the combination of this seed, and `1000-5000` runs all seeds in this range.
@Suite(.timeLimit(.minutes(wantedSeeds == nil ? 4 : 60)))
struct CombinationTests {
    private static let lanes = 4

    private static let seeds: ClosedRange<UInt64> = {
        let ends = (wantedSeeds ?? "1-45").split(separator: "-").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return 1...45 }
        return first...last
    }()

    @Test(arguments: 0..<lanes)
    func `any combination ends with a file of one version`(_ lane: Int) async throws {
        for seed in Self.seeds where Int(seed % UInt64(Self.lanes)) == lane {
            do {
                guard let failure = try await CombinationRun.failure(of: Combination(seed: seed)) else { continue }
                Issue.record("seed \(seed): \(failure)")
            } catch {
                Issue.record(error, "seed \(seed)")
            }
            if Task.isCancelled { return }
        }
    }
}
