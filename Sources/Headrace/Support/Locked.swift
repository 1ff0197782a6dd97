import CHeadrace
import Synchronization

/// A `Mutex` that the thread sanitizer recognizes.
///
/// On Linux, the mutex of the standard library is a futex in code without instrumentation, so the sanitizer reports
/// each access under that mutex as a race.
package struct Locked<Value>: ~Copyable, Sendable {
    /// Provides an address that identifies the lock to the sanitizer.
    private final class Identity: Sendable {
        var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    }

    private let mutex: Mutex<Value>
    #if DEBUG
    private let rank: LockRank
    #endif
    private let identity = hr_uses_thread_sanitizer() ? Identity() : nil

    /// Creates an unlocked lock that protects a value.
    /// - Parameters:
    ///   - value: The value that the lock protects.
    ///   - rank: The lock's place in the lock order.
    package init(_ value: sending Value, rank: LockRank = .leaf) {
        mutex = Mutex(value)
        #if DEBUG
        self.rank = rank
        #endif
    }

    /// Runs `body` with exclusive access to the value.
    ///
    /// In debug builds, traps if the calling thread already holds a lock of the same or a higher rank; two locks of the
    /// rank `leaf` are allowed.
    /// - Parameter body: A function that must not block, and may take only locks of higher rank.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if DEBUG
        let highest = hr_lock_ranks_push(rank.rawValue)
        defer { hr_lock_ranks_pop() }
        precondition(rank.isAllowed(above: highest), "A lock of rank \(rank) was taken under one of rank \(highest).")
        #endif
        return try mutex.withLock { value throws(Failure) in
            if let identity { hr_lock_acquired(identity.address) }
            defer { if let identity { hr_lock_released(identity.address) } }
            return try body(&value)
        }
    }
}
