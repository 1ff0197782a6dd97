import CHeadrace
import Synchronization

/// A `Mutex` that the thread sanitizer knows of.
///
/// On Linux the standard library's mutex is a futex in code that is not instrumented, so that the sanitizer takes each
/// access under it for a race.
package struct Locked<Value>: ~Copyable, Sendable {
    /// Gives a lock an address for the sanitizer.
    private final class Identity: Sendable {
        var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    }

    private let mutex: Mutex<Value>
    private let identity = hr_is_watched() ? Identity() : nil

    /// Creates a lock around a value.
    /// - Parameter value: What only the holder of the lock can touch.
    package init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with the value, alone.
    /// - Parameter body: Must not lock again, nor wait.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
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
