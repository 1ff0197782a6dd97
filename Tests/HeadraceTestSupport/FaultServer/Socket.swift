import HeadracePlatform

/// A connected socket for its own thread: all calls block, and `shutDown` from any thread ends a wait.
struct Socket: Sendable {
    /// Why a wait ended.
    enum Waking {
        case hungUp
        case opened
        case timedOut
    }

    let descriptor: Int32

    /// Creates a TCP socket that child processes do not inherit.
    static func make(onIPv6: Bool = false) throws -> Socket {
        let family = onIPv6 ? AF_INET6 : AF_INET
        #if canImport(Glibc)
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw CallFailure("socket") }
        keepFromChildren(descriptor)
        return Socket(descriptor: descriptor)
    }

    /// Connects to a port of 127.0.0.1.
    static func connected(to port: UInt16) throws -> Socket {
        let socket = try make()
        guard socket.connect(to: port) == 0 else {
            let failure = CallFailure("connect")
            socket.close()
            throw failure
        }
        return socket
    }

    /// Starts connecting to a port of 127.0.0.1, and returns whether it has connected already.
    static func connecting(to port: UInt16) throws -> (socket: Socket, isConnected: Bool) {
        let socket = try make()
        _ = fcntl(socket.descriptor, F_SETFL, O_NONBLOCK)
        let isConnected = socket.connect(to: port) == 0
        guard isConnected || errno == EINPROGRESS else {
            let failure = CallFailure("connect")
            socket.close()
            throw failure
        }
        return (socket, isConnected)
    }

    private func connect(to port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return -1 }
            let size = socklen_t(bytes.count)
            #if canImport(Glibc)
            return Glibc.connect(descriptor, address, size)
            #elseif canImport(Musl)
            return Musl.connect(descriptor, address, size)
            #else
            return Darwin.connect(descriptor, address, size)
            #endif
        }
    }

    /// Disables Nagle's algorithm, and makes a write to a closed connection an error instead of a signal.
    func prepare() {
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY)
        #if canImport(Darwin)
        setOption(SOL_SOCKET, SO_NOSIGPIPE)
        #endif
    }

    /// Sends all bytes; returns the number sent before the connection broke.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        guard let base = bytes.baseAddress else { return 0 }
        var done = 0
        while done < bytes.count {
            #if canImport(Glibc)
            let count = Glibc.send(descriptor, base + done, bytes.count - done, flags)
            #elseif canImport(Musl)
            let count = Musl.send(descriptor, base + done, bytes.count - done, flags)
            #else
            let count = Darwin.send(descriptor, base + done, bytes.count - done, flags)
            #endif
            if count > 0 {
                done += count
            } else if errno != EINTR {
                break
            }
        }
        return done
    }

    /// Receives available bytes, waiting if there are none; zero once the connection has ended, however it ended.
    func receive(into buffer: inout [UInt8]) -> Int {
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return 0 }
        }
    }

    /// Waits for the client to hang up, a gate to open, or the time-out, whichever comes first.
    func wait(for gate: Gate? = nil, timeout: Duration? = nil) -> Waking {
        var descriptors = [pollfd(fd: descriptor, events: Poll.hangUp, revents: 0)]
        if let gate { descriptors.append(pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)) }
        guard Poll.wait(for: &descriptors, timeout: timeout) else { return .timedOut }
        return descriptors[0].revents != 0 ? .hungUp : .opened
    }

    /// Returns the number of sockets whose client has not hung up.
    static func liveCount(_ sockets: [Socket]) -> Int {
        var descriptors = sockets.map { socket in
            // A send in progress holds the kernel's lock on the socket, and a reset that arrives meanwhile is processed
            // only when the lock is released. Peeking at the input takes the same lock.
            var byte: UInt8 = 0
            recv(socket.descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            return pollfd(fd: socket.descriptor, events: Poll.hangUp, revents: 0)
        }
        // On a busy machine a hang-up can be delivered a moment after a connection that was made later. The grace
        // period applies only to small numbers, for which a test may check a limit, not to a thousand sockets.
        let grace: Duration = sockets.count <= 32 ? .milliseconds(2) : .zero
        while Poll.wait(for: &descriptors, timeout: grace) {
            descriptors.removeAll { $0.revents != 0 }
        }
        return descriptors.count
    }

    /// Shuts down both directions, which wakes the thread that waits on this socket; the descriptor stays open.
    func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Shuts down the sending direction, and waits for the client to close.
    ///
    /// Closing with unread bytes would send a reset, which can destroy data that the client has not read yet.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
        var rest = [UInt8](repeating: 0, count: 4_096)
        while receive(into: &rest) > 0 {}
    }

    /// Makes closing send a reset, once the client's kernel has received everything sent before.
    func armReset() {
        // A reset discards the unsent queue, and the kernel has no event for an empty queue.
        while unsentCount > 0 {
            guard wait(timeout: .milliseconds(1)) == .timedOut else { break }
        }
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    func close() {
        #if canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #else
        _ = Darwin.close(descriptor)
        #endif
    }

    private var unsentCount: Int32 {
        var count: Int32 = 0
        #if canImport(Darwin)
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? count : 0
        #else
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
        #endif
    }

    private func setOption(_ level: Int32, _ name: Int32) {
        var one: Int32 = 1
        setsockopt(descriptor, level, name, &one, socklen_t(MemoryLayout<Int32>.size))
    }
}
