import Synchronization

/// Shares out the memory for bytes between the network and the disk among the transfers at work.
final class BufferBudget: Sendable {
    /// What all transfers together may hold.
    private static let bytes = 32 << 20

    private let activeTransfers = Atomic(0)

    /// Counts a transfer in and returns how many bytes of it may wait in memory.
    func admit() -> Int {
        let active = activeTransfers.add(1, ordering: .relaxed).newValue
        // Powers of two, so that chunks of one transfer fit the next.
        let share = Self.bytes / active
        return [1 << 20, 512 << 10, 256 << 10, 128 << 10].first { $0 <= share } ?? 64 << 10
    }

    /// Counts a transfer out.
    func dismiss() {
        activeTransfers.subtract(1, ordering: .relaxed)
    }
}
