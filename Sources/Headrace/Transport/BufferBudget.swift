/// Divides the memory for buffered bytes, which were received but not yet read, among the running transfers.
final class BufferBudget: Sendable {
    /// The memory in bytes that is divided among the transfers.
    ///
    /// About 60 transfers get more than the minimum share; each further one gets the minimum share, even beyond this
    /// total.
    private static let bytes = 32 << 20
    /// The possible shares above ``minShare``, in bytes; only a few, so that transfers can reuse each other's chunks.
    private static let shares = [1 << 20, 512 << 10, 256 << 10, 128 << 10]
    private static let minShare = 64 << 10

    private let reserved = Locked(0)

    /// Adds a transfer and returns its share of the remaining memory in bytes.
    func admit() -> Int {
        reserved.withLock { reserved in
            let available = Self.bytes - reserved
            let share = Self.shares.first { $0 * 16 <= available } ?? Self.minShare
            reserved += share
            return share
        }
    }

    /// Releases the share of a finished transfer.
    func dismiss(_ share: Int) {
        reserved.withLock { $0 -= share }
    }
}
