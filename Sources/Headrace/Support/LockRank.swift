/// The lock order: a thread that holds a lock may take only locks of a higher rank, so that no two threads can wait for
/// each other.
///
/// Debug builds check the order; see ``Locked/withLock(_:)``. Most locks have the rank `leaf`: a thread that holds one
/// takes only locks of the ranks `executor` and `thread`. As an exception, tests may take one leaf under another.
package enum LockRank: UInt8, Sendable {
    case stopSignal
    case backgroundTransfers
    case registryFile
    case segmentedFetch
    case ledgerDisk
    case ledgerState
    case throttleHandle
    case throttleController
    case downloadRecord
    case responseStream
    case leaf
    /// A lock that is taken when a task is resumed, which may happen under any other lock.
    case executor
    /// The lock of a ``WorkerThread``: an executor starts threads while it holds its own lock.
    case thread

    /// Whether a thread whose locks have ranks up to `highest` may take a lock of this rank.
    ///
    /// `highest` is -1 if the thread holds no lock.
    func isAllowed(above highest: Int32) -> Bool {
        highest < rawValue || self == .leaf && highest == rawValue
    }
}
