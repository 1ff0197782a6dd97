import HeadracePlatform

/// A socket bound to a free port of 127.0.0.1 or ::1; until it listens, the port refuses connections.
struct Listener: Sendable {
    /// The result of waiting for a connection.
    enum Arrival {
        case connection(Socket)
        case interruption
        case stopped
    }

    private static let backlog: Int32 = 1_024

    let port: UInt16
    private let descriptor: Int32

    init(onIPv6: Bool = false) throws {
        descriptor = try Socket.make(onIPv6: onIPv6).descriptor
        do {
            if onIPv6 {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_addr = in6addr_loopback
                try Self.bind(descriptor, to: &address)
                port = UInt16(bigEndian: address.sin6_port)
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
                try Self.bind(descriptor, to: &address)
                port = UInt16(bigEndian: address.sin_port)
            }
        } catch {
            Socket(descriptor: descriptor).close()
            throw error
        }
    }

    /// Binds to an address, and stores the port that the system has chosen in it.
    private static func bind<Address>(_ descriptor: Int32, to address: inout Address) throws {
        var size = socklen_t(MemoryLayout<Address>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            #if canImport(Glibc)
            let code = Glibc.bind(descriptor, address, size)
            #elseif canImport(Musl)
            let code = Musl.bind(descriptor, address, size)
            #else
            let code = Darwin.bind(descriptor, address, size)
            #endif
            return code == 0 && getsockname(descriptor, address, &size) == 0
        }
        if !isBound { throw CallFailure("bind") }
    }

    func listen(backlog: Int32 = Listener.backlog) throws {
        #if canImport(Glibc)
        let code = Glibc.listen(descriptor, backlog)
        #elseif canImport(Musl)
        let code = Musl.listen(descriptor, backlog)
        #else
        let code = Darwin.listen(descriptor, backlog)
        #endif
        guard code == 0 else { throw CallFailure("listen") }
    }

    /// Waits for the next connection or for the stop gate.
    func accept(until stop: Gate) -> Arrival {
        var waiting = [
            pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        _ = Poll.wait(for: &waiting)
        guard waiting[0].revents == 0 else { return .stopped }
        #if canImport(Glibc)
        let connection = Glibc.accept(descriptor, nil, nil)
        #elseif canImport(Musl)
        let connection = Musl.accept(descriptor, nil, nil)
        #else
        let connection = Darwin.accept(descriptor, nil, nil)
        #endif
        guard connection >= 0 else {
            // Without descriptors the connection stays ready, and this would be a busy loop without a pause.
            var stopping = [waiting[0]]
            return Poll.wait(for: &stopping, timeout: .milliseconds(10)) ? .stopped : .interruption
        }
        keepFromChildren(connection)
        return .connection(Socket(descriptor: connection))
    }

    func close() {
        Socket(descriptor: descriptor).close()
    }
}
