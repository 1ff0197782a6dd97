import Testing

@testable import Headrace

/// The memory that each transfer may buffer.
@Suite(.timeLimit(.minutes(4)))
struct BufferBudgetTests {
    @Test func `one transfer has a large buffer, and a thousand share a bounded total`() {
        let budget = BufferBudget()
        let shares = (0..<1000).map { _ in budget.admit() }
        #expect(shares.first == 1 << 20)
        #expect(shares.last == 64 << 10)
        #expect(shares.prefix(64).reduce(0, +) <= 32 << 20)
        #expect(shares.reduce(0, +) <= 92 << 20)
    }

    @Test func `the buffer of an ended transfer is available to later ones`() {
        let budget = BufferBudget()
        let shares = (0..<100).map { _ in budget.admit() }
        for share in shares.shuffled() { budget.dismiss(share) }
        #expect((0..<100).map { _ in budget.admit() } == shares)
    }
}
