import HeadracePlatform

/// What this process holds at the moment, for tests that look for leaks.
///
/// Tests that run in parallel change the numbers: compare them only in a serialized suite.
package enum ProcessProbe {
    /// The number of open descriptors; `nil` where the system does not tell.
    package static var openDescriptors: Int? {
        // The listing's own descriptor is among them.
        entries(in: "/proc/self/fd").map { $0 - 1 }
    }

    /// The number of connections to a port of this machine that a program which is started now would have open as well.
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
        // Without the directory itself and its parent.
        return count - 2
    }
}
