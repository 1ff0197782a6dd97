#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Ports of the loopback for servers that cannot choose one by themselves.
enum FreePorts {
    /// Two ports that nobody had a moment ago.
    static func two() throws -> (Int, Int) {
        let sockets = try [openSocket(), openSocket()]
        defer { for socket in sockets { close(socket) } }
        let ports = try sockets.map { socket in
            var address = loopback(0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
                }
            }
            guard result == 0 else { throw InteropFailure("no port could be had: errno \(errno)") }
            return Int(UInt16(bigEndian: address.sin_port))
        }
        return (ports[0], ports[1])
    }

    /// Returns when somebody listens; a server tells that in no other way.
    static func waitForListener(at port: Int, check: () throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let socket = try openSocket()
            defer { close(socket) }
            var address = loopback(port)
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return }
            try check()
            guard ContinuousClock.now < deadline else { throw InteropFailure("nobody listens at port \(port)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func openSocket() throws -> Int32 {
        #if canImport(Darwin)
        let kind = SOCK_STREAM
        #else
        let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let result = socket(AF_INET, kind, 0)
        guard result >= 0 else { throw InteropFailure("no socket could be had: errno \(errno)") }
        return result
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
