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
    private let identity = hr_uses_thread_sanitizer() ? Identity() : nil

    /// Creates an unlocked lock that protects a value.
    /// - Parameter value: The value that the lock protects.
    package init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with exclusive access to the value.
    /// - Parameter body: A function that must neither lock again nor block.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            if let identity { hr_lock_acquired(identity.address) }
            defer { if let identity { hr_lock_released(identity.address) } }
            return try body(&value)
        }
    }
}
