#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What this process holds at the moment, for tests that look for leaks.
///
/// Tests that run in parallel change the numbers: compare them only in a serialized suite.
package enum ProcessProbe {
    /// The number of open descriptors; `nil` where the system does not tell.
    package static var openDescriptors: Int? {
        // The listing's own descriptor is among them.
        entries(in: "/proc/self/fd").map { $0 - 1 }
    }

    /// The number of threads; `nil` where the system does not tell.
    ///
    /// A thread that was joined can be counted for a moment more: the kernel wakes the joiner a little early.
    package static var threads: Int? {
        entries(in: "/proc/self/task")
    }

    private static func entries(in directory: String) -> Int? {
        guard let stream = opendir(directory) else { return nil }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        // Without the directory itself and its parent.
        return count - 2
    }
}
