/// Shares out the memory for bytes between the network and the disk among the transfers at work.
final class BufferBudget: Sendable {
    /// What some sixty transfers may hold together; each one more may hold the least share.
    private static let bytes = 32 << 20
    /// Powers of two, so that chunks of one transfer fit the next.
    private static let shares = [1 << 20, 512 << 10, 256 << 10, 128 << 10]
    private static let leastShare = 64 << 10

    private let promised = Locked(0)

    /// Counts a transfer in and returns how many bytes of it may wait in memory: a part of what the others have left.
    func admit() -> Int {
        promised.withLock { promised in
            let left = Self.bytes - promised
            let share = Self.shares.first { $0 * 16 <= left } ?? Self.leastShare
            promised += share
            return share
        }
    }

    /// Counts a transfer out that had so many bytes.
    func dismiss(_ share: Int) {
        promised.withLock { $0 -= share }
    }
}
