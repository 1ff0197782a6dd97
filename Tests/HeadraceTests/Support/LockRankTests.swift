import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct LockRankTests {
    @Test func `locks may be taken in the order of their ranks, and again after their release`() {
        let outer = Locked(1, rank: .stopSignal)
        let inner = Locked(2)
        for _ in 0..<3 {
            #expect(outer.withLock { outer in inner.withLock { $0 + outer } } == 3)
            #expect(inner.withLock { $0 } == 2)
        }
    }

    #if DEBUG
    @Test func `a lock of a lower or the same rank under another lock traps in debug builds`() async {
        await #expect(processExitsWith: .failure) {
            let outer = Locked(1, rank: .stopSignal)
            let inner = Locked(2)
            inner.withLock { value in outer.withLock { $0 += value } }
        }
        await #expect(processExitsWith: .failure) {
            let first = Locked(1, rank: .downloadRecord)
            let second = Locked(2, rank: .downloadRecord)
            first.withLock { value in second.withLock { $0 += value } }
        }
    }
    #endif
}
