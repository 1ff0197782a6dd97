import HeadracePlatform

/// Resources that this process currently uses, for tests that detect leaks.
///
/// Parallel tests change the numbers, so compare them only in a serialized suite.
package enum ProcessProbe {
    /// The number of open descriptors; `nil` if the system does not report it.
    package static var openDescriptors: Int? {
        // Excludes the descriptor of the listing itself.
        entries(in: "/proc/self/fd").map { $0 - 1 }
    }

    /// Returns the number of connections to a local port that a new child process would inherit.
    package static func inheritableConnections(to port: UInt16) -> Int {
        (0..<getdtablesize()).count { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutableBytes(of: &address) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { getpeername(descriptor, $0.baseAddress, &length) == 0 }
            }
            guard isConnected, address.sin_port == port.bigEndian else { return false }
            return fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0
        }
    }

    private static func entries(in directory: String) -> Int? {
        guard let stream = opendir(directory) else { return nil }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        // Excludes `.` and `..`.
        return count - 2
    }
}
