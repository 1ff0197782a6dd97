import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct SchedulerTests {
    private let a = Download.ID(rawValue: 1)
    private let b = Download.ID(rawValue: 2)
    private let c = Download.ID(rawValue: 3)

    /// Outside of the macro, which cannot take a mutating call.
    private func expect(
        _ actions: [Scheduler.Action],
        _ expected: [Scheduler.Action],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(actions == expected, sourceLocation: location)
    }

    @Test func `as many run as the limit allows, in the order of adding`() {
        var scheduler = Scheduler(limit: 2)
        expect(scheduler.add([a, b, c]), [.start(a), .start(b)])
        expect(scheduler.ended(b), [.start(c)])
        expect(scheduler.ended(a), [])
        expect(scheduler.ended(a), [])
    }

    @Test func `cancelling one that waits ends it, and it does not run later`() {
        var scheduler = Scheduler(limit: 1)
        _ = scheduler.add([a, b, c])
        expect(scheduler.cancel(b), [.end(b, .cancelled)])
        expect(scheduler.cancel(b), [])
        expect(scheduler.ended(a), [.start(c)])
    }

    @Test func `cancelling one that runs stops it, and its place is free when it has ended`() {
        var scheduler = Scheduler(limit: 1)
        _ = scheduler.add([a, b])
        expect(scheduler.cancel(a), [.stop(a, .cancelled)])
        expect(scheduler.ended(a), [.start(b)])
    }

    @Test func `shutting down ends all`() {
        var scheduler = Scheduler(limit: 1)
        _ = scheduler.add([a, b, c])
        expect(scheduler.shutDown(), [.end(b, .shutDown), .end(c, .shutDown), .stop(a, .shutDown)])
        expect(scheduler.ended(a), [])
    }

    @Test(arguments: 0..<10)
    func `in a random walk the limit holds, the order is kept and none is lost`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limit = Int.random(in: 1...5, using: &random)
        var scheduler = Scheduler(limit: limit)
        var added: UInt64 = 0
        var running: Set<Download.ID> = []
        var ended: Set<Download.ID> = []
        var lastStarted: UInt64 = 0

        func note(_ actions: [Scheduler.Action]) {
            for action in actions {
                switch action {
                case .start(let id):
                    #expect(id.rawValue > lastStarted)
                    lastStarted = id.rawValue
                    running.insert(id)
                case .stop(let id, _): #expect(running.contains(id))
                case .end(let id, _): #expect(ended.insert(id).inserted)
                }
            }
            #expect(running.count <= limit)
            #expect(running == scheduler.running)
        }

        for _ in 0..<5_000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                let ids = (0..<UInt64.random(in: 0...3, using: &random)).map { Download.ID(rawValue: added + $0 + 1) }
                added += UInt64(ids.count)
                note(scheduler.add(ids))
            case 1:
                if let id = running.randomElement(using: &random) {
                    running.remove(id)
                    ended.insert(id)
                    note(scheduler.ended(id))
                }
            default:
                note(scheduler.cancel(Download.ID(rawValue: .random(in: 1...max(1, added), using: &random))))
            }
            #expect(running.count == limit || scheduler.waiting.isEmpty, "a place is free and one waits")
            #expect(running.count + ended.count + scheduler.waiting.count == Int(added))
        }
    }
}
