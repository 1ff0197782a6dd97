#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A socket bound to a free port of 127.0.0.1; until it listens, the port refuses connections.
struct Listener: Sendable {
    /// What came out of waiting for a connection.
    enum Arrival {
        case connection(Socket)
        case interruption
        case stopped
    }

    private static let backlog: Int32 = 1_024

    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = try Socket.make().descriptor
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let descriptor = descriptor
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            return bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
        }
        guard isBound else {
            let failure = CallFailure("bind")
            Socket(descriptor: descriptor).close()
            throw failure
        }
        port = UInt16(bigEndian: address.sin_port)
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

    /// Waits for the next connection or for the gate that ends it all.
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
            // Out of descriptors, the connection stays ready: without a pause this would be a busy loop.
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
