import HeadraceTestSupport
import Testing

@testable import Headrace

/// Random walks of a background session against a model of the system: in any order of events that Apple documents, no
/// handler is called twice or never, no download is lost, and no file is taken twice.
@Suite(.timeLimit(.minutes(4)), .computing)
struct BackgroundWalkTests {
    @Test(arguments: 1...10)
    func `no order of callbacks loses a download, takes a file twice, or calls a handler twice or never`(
        seed: UInt64
    ) throws {
        var walk = BackgroundWalk(seed: seed)
        for _ in 0..<5000 where walk.problem == nil { walk.step() }
        walk.settle()
        #expect(walk.problem == nil, "seed \(seed), step \(walk.steps)")
        #expect(walk.finished > 40)
        #expect(walk.wakes > 20)
    }
}
