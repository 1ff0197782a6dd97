import HeadracePlatform

/// The server that the scenes fetch from, in its own process so that its CPU time is not counted for a contender.
struct OriginServer: Sendable {
    let description: String
    let process: ChildProcess
    let httpPort: UInt16
    /// The port for TLS, if there is one.
    let tlsPort: UInt16?
    /// The certificate that signed the server's.
    let authority: String?
    /// The reason why scenes with TLS cannot run, if they cannot.
    let tlsObstacle: String?

    enum Kind: String, Sendable {
        /// nginx if it is installed, otherwise the built-in server.
        case automatic = "auto"
        case nginx
        case own
    }

    static func start(_ kind: Kind, isTLSWanted: Bool, in workspace: Workspace) throws -> OriginServer {
        if kind != .own, let nginx = FileSystem.find("nginx") {
            return try NginxServer.start(nginx, isTLSWanted: isTLSWanted, in: workspace)
        }
        if kind == .nginx { throw BenchmarkError("nginx is not installed") }
        return try LoopbackServer.start(in: workspace)
    }

    func url(for path: String, isEncrypted: Bool) -> String {
        if isEncrypted, let tlsPort { return "https://127.0.0.1:\(tlsPort)/\(path)" }
        return "http://127.0.0.1:\(httpPort)/\(path)"
    }

    func stop() {
        process.stop()
    }

    /// Waits until the port accepts connections; on failure, throws an error with the server's output.
    static func awaitPort(
        _ port: UInt16,
        at address: String = Loopback.address,
        of process: ChildProcess,
        log: String
    ) throws {
        for _ in 0..<500 {
            if Loopback.canConnect(to: port, at: address) { return }
            if let exit = process.poll() {
                throw BenchmarkError("the server ended (\(exit.failure ?? "status 0")): \(FileSystem.text(of: log))")
            }
            do { try Signals.check() } catch {
                process.stop()
                throw error
            }
            usleep(10_000)
        }
        process.stop()
        throw BenchmarkError("the server does not respond on port \(port): \(FileSystem.text(of: log))")
    }
}

/// Sockets on 127.0.0.1, or on another address in a private network namespace.
enum Loopback {
    static let address = "127.0.0.1"

    /// Returns a listening socket on the given port, or on one that the kernel chooses.
    static func listen(
        on port: UInt16 = 0,
        at address: String = Loopback.address
    ) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = makeSocket()
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        let bound = withAddress(port, address) { bind(descriptor, $0, $1) }
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard descriptor >= 0, bound == 0, named == 0, Self.systemListen(descriptor) == 0 else {
            let error = BenchmarkError.system("cannot listen on \(address)")
            close(descriptor)
            throw error
        }
        return (descriptor, UInt16(bigEndian: name.sin_port))
    }

    /// Returns a port that was free a moment ago, for a server that needs to be given one.
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    static func canConnect(to port: UInt16, at address: String = Loopback.address) -> Bool {
        let descriptor = makeSocket()
        defer { close(descriptor) }
        return withAddress(port, address) { connect(descriptor, $0, $1) } == 0
    }

    private static func systemListen(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        Darwin.listen(descriptor, 128)
        #elseif canImport(Musl)
        Musl.listen(descriptor, 128)
        #else
        Glibc.listen(descriptor, 128)
        #endif
    }

    private static func makeSocket() -> Int32 {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    private static func withAddress(
        _ port: UInt16,
        _ address: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        guard inet_pton(AF_INET, address, &name.sin_addr) == 1 else { return -1 }
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
