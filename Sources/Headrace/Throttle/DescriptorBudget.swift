import HeadracePlatform

/// Divides the descriptors that the process may still open among transfers and their additional connections.
///
/// This type makes no system calls. It reserves the maximum number of descriptors for each transfer: counting the open
/// ones at each start would cost more than downloading a small file.
struct DescriptorBudget: Sendable {
    /// The number of descriptors reserved for each transfer.
    ///
    /// A name lookup opens up to five. After the lookup, the socket, the partial file, its resume record and the folder
    /// are open.
    static let perTransfer = 6
    /// The maximum number of descriptors of each connection after a transfer's first connection: two while IPv4 and
    /// IPv6 are attempted at the same time.
    static let perConnection = 2
    /// The number of descriptors reserved for code other than transfers; on Linux, Dispatch traps if it gets none.
    static let reserve = 2
    /// The number of free descriptors that a single download needs, including one for Dispatch.
    static let minimum = perTransfer + 1
    /// The maximum number of idle connections that a transport retains for later transfers.
    static let maxIdleConnections = 64

    /// The number of descriptors that transfers and their additional connections may use in total.
    private(set) var capacity: Int
    private(set) var transfers = 0
    /// For each download, the number of reserved connections in addition to its first.
    private var connections: [DownloadID: Int] = [:]
    private var connectionCount = 0
    /// Whether the last count found fewer than ``minimum`` free descriptors; ``isFull`` is then `true`.
    private var isScarce = false

    init(free: Int) {
        capacity = free - Self.reserve - Self.idleConnections(free: free)
    }

    /// Returns how many idle connections a transport may retain: a quarter of the free descriptors that exceed
    /// ``minimum``, but at least one and at most ``maxIdleConnections``.
    static func idleConnections(free: Int) -> Int { max(1, min(maxIdleConnections, (free - minimum) / 4)) }

    /// Updates the budget from a count of free descriptors.
    ///
    /// Does not lower the capacity while transfers run, since the count omits the descriptors that they have open.
    mutating func measured(free: Int) {
        let found = DescriptorBudget(free: free).capacity
        capacity = transfers == 0 ? found : max(capacity, found)
        isScarce = free < Self.minimum
    }

    /// Admits a transfer if enough descriptors are available; returns whether it was admitted.
    ///
    /// If the manager runs no other transfer (`isOnly`), the transfer is always admitted: the manager has no other one
    /// that could release descriptors.
    mutating func admit(isOnly: Bool) -> Bool {
        guard isOnly || !isFull else { return false }
        transfers += 1
        return true
    }

    /// Whether the descriptors do not suffice for another transfer; ``admit(isOnly:)`` then admits a transfer only if
    /// its manager runs no other.
    var isFull: Bool { isScarce || used + Self.perTransfer > capacity }

    mutating func transferEnded() { transfers = max(0, transfers - 1) }

    /// Reserves up to `wanted` connections for a download, and returns how many it may have, at least one; both numbers
    /// include its first connection.
    ///
    /// The connections stay reserved until the next call with this download or until ``releaseConnections(of:)``.
    mutating func share(of id: DownloadID, wanting wanted: Int) -> Int {
        let current = connections[id, default: 0]
        let available = (capacity - used) / Self.perConnection
        let granted = max(0, min(wanted - 1, current + available))
        connections[id] = granted == 0 ? nil : granted
        connectionCount += granted - current
        return granted + 1
    }

    /// Releases the descriptors of a download's additional connections.
    mutating func releaseConnections(of id: DownloadID) {
        guard connectionCount > 0 else { return }
        connectionCount -= connections.removeValue(forKey: id) ?? 0
    }

    /// Lowers the capacity after a transfer failed to open a descriptor; returns whether it was lowered.
    ///
    /// If no other transfer runs, none can release descriptors, so the capacity stays the same.
    mutating func ranOut() -> Bool {
        guard transfers > 1 else { return false }
        capacity = min(capacity, used - Self.perTransfer)
        return true
    }

    private var used: Int { transfers * Self.perTransfer + connectionCount * Self.perConnection }
}

/// The descriptor budget that all managers of a process share.
final class DescriptorShare: Sendable {
    private struct State {
        var budget: DescriptorBudget
        var measured: ContinuousClock.Instant?
    }

    /// The budget of this process.
    static let system = DescriptorShare { DescriptorLimit.free() }
    /// A new budget, independent of ``system``, that grants every reservation.
    static var unlimited: DescriptorShare { DescriptorShare { .max / 4 } }

    /// The time for which a count of free descriptors is reused.
    private static let measuringInterval = Duration.milliseconds(100)

    private let state: Locked<State>
    private let countFree: @Sendable () -> Int

    init(_ countFree: @escaping @Sendable () -> Int) {
        self.countFree = countFree
        state = Locked(State(budget: DescriptorBudget(free: countFree())))
    }

    /// Whether the descriptors do not suffice for another transfer; ``admit(isOnly:)`` then admits a transfer only if
    /// its manager runs no other.
    var isFull: Bool { state.withLock { $0.budget.isFull } }

    /// Whether the process runs at most one transfer.
    var isSingleTransfer: Bool { state.withLock { $0.budget.transfers <= 1 } }

    /// Admits a transfer if enough descriptors are available, and reserves them until ``transferEnded()``; returns
    /// whether it was admitted.
    ///
    /// If the manager runs no other transfer (`isOnly`), the transfer is always admitted.
    func admit(isOnly: Bool) -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            if state.measured.map({ now - $0 > Self.measuringInterval }) ?? true {
                state.budget.measured(free: countFree())
                state.measured = now
            }
            return state.budget.admit(isOnly: isOnly)
        }
    }

    func transferEnded() { state.withLock { $0.budget.transferEnded() } }

    /// Reserves up to `wanted` connections for a download, and returns how many it may have, at least one; both numbers
    /// include its first connection.
    ///
    /// The connections stay reserved until the next call with this download or until ``releaseConnections(of:)``.
    func share(of id: DownloadID, wanting wanted: Int) -> Int {
        state.withLock { $0.budget.share(of: id, wanting: wanted) }
    }

    func releaseConnections(of id: DownloadID) { state.withLock { $0.budget.releaseConnections(of: id) } }

    /// Records that a transfer failed to open a descriptor; returns whether the transfer should wait for other
    /// transfers to release descriptors.
    func ranOut() -> Bool { state.withLock { $0.budget.ranOut() } }
}

extension DescriptorLimit {
    /// The number of descriptors that a transport opens before any transfer.
    static let perTransport = 4
    /// The number of descriptors that a monitor of the network path opens.
    static let perNetworkMonitor = 3

    /// Throws `fileSystem` if the process cannot open enough descriptors for a download and `others` more for the
    /// caller.
    package static func require(besides others: Int = 0) throws(DownloadError) {
        let (free, needed) = (free(), perTransport + DescriptorBudget.minimum + others)
        guard free < needed else { return }
        throw DownloadError(
            .fileSystem,
            "The process needs to open \(needed) more files, but may only open \(max(0, free)): \(SystemError(errno: EMFILE)). "
                + "Allow more open files (ulimit -n).",
            cause: SystemError(errno: EMFILE)
        )
    }

    /// Whether enough descriptors are free for a transport, a monitor of the network path, and two downloads.
    static var allowsNetworkMonitor: Bool {
        free() >= perTransport + perNetworkMonitor + DescriptorBudget.minimum + DescriptorBudget.perTransfer
    }
}

extension DownloadError {
    /// Whether the error means that the process, or the system, has too many open files.
    var isOutOfDescriptors: Bool { (cause as? SystemError)?.isOutOfDescriptors ?? false }
}
