/// The lock order: a thread that holds a lock may take only locks of a higher rank, so that no two threads can wait for
/// each other.
///
/// Debug builds check it; see ``Locked/withLock(_:)``. Most locks have the rank `leaf`: the code under them takes no other.
package enum LockRank: UInt8, Sendable {
    case stopSignal
    case backgroundTransfers
    case registryFile
    case segmentedFetch
    case ledgerDisk
    case ledgerState
    case downloadStatus
    case throttleHandle
    case throttleController
    case downloadRecord
    case responseStream
    case networkPathObserver
    case leaf
    /// A lock that is taken when a task is resumed, which may happen under any other lock.
    case executor
    /// The lock of a thread, which an executor may start.
    case thread
}
