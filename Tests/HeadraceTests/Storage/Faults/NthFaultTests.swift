import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Every file call of a download fails in turn: no wrong file, no lost bytes, and the next run finishes.
@Suite(.timeLimit(.minutes(4)), .computing)
struct NthFaultTests {
    @Test(arguments: FaultScenario.all, NthFault.Kind.allCases)
    func `K01 K05 K06 no failing file call loses a file or saved bytes`(
        _ scenario: FaultScenario,
        _ kind: NthFault.Kind
    ) async throws {
        var number = 1
        while let complaints = try await withTemporaryDirectory({ folder in
            try await FaultRun(scenario, kind, at: number, in: folder).complaints()
        }) {
            for complaint in complaints { Issue.record("\(complaint)") }
            number += 1
        }
        #expect(number > 5 || kind.errno == ENOSPC, "the scenario makes only \(number - 1) calls")
    }
}
