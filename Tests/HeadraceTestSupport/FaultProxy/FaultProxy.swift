import Headrace
package import HeadracePlatform

/// A proxy on a port of 127.0.0.1 that adds delays, faults, TLS or a proxy protocol to connections to a server.
package final class FaultProxy: Sendable {
    private struct State {
        var connectionCount = 0
        var sockets: [Int: [Socket]] = [:]
        var isStopping = false
    }

    /// Whether libssl could be loaded, which certificates require.
    package static var speaksTLS: Bool { TLSContext.isAvailable }

    private let listener: Listener
    private let approach: Approach
    private let context: TLSContext?
    private let link: @Sendable (Int) -> Link
    private let state = Locked(State())
    private let acceptor = Locked<Acceptor?>(nil)

    fileprivate init(
        by approach: Approach,
        presenting certificate: TestCertificate?,
        requiresCertificate: Bool,
        link: @escaping @Sendable (Int) -> Link
    ) throws {
        self.approach = approach
        self.link = link
        context = try certificate.map { try TLSContext($0, requiresCertificate: requiresCertificate) }
        listener = try Listener()
    }

    /// The total number of accepted connections.
    package var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Returns the URL of a percent-encoded path, with `https` if the proxy presents a certificate.
    package func url(_ path: String = "/") -> URL {
        let text = "\(context == nil ? "http" : "https")://127.0.0.1:\(listener.port)\(path)"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return url
    }

    /// Returns the URL to configure as a client's proxy.
    package func address(_ scheme: String, login: String? = nil) -> URL {
        let text = "\(scheme)://\(login.map { "\($0)@" } ?? "")127.0.0.1:\(listener.port)"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return url
    }

    fileprivate func start() throws {
        try listener.listen()
        let acceptor = try Acceptor(
            listener,
            open: { [self] in open($0) },
            serve: { [self] socket, number in
                serve(socket, number)
                close(number)
            },
            close: { [self] in close($0) }
        )
        self.acceptor.withLock { $0 = acceptor }
    }

    fileprivate func stop() async {
        state.withLock { state in
            state.isStopping = true
            for socket in state.sockets.values.joined() { socket.shutDown() }
        }
        await acceptor.withLock { $0 }?.stop()
        listener.close()
    }

    /// Registers a connection and returns its number; `nil` if the proxy is stopping.
    private func open(_ socket: Socket) -> Int? {
        state.withLock { state in
            guard !state.isStopping else { return nil }
            let number = state.connectionCount
            state.connectionCount += 1
            state.sockets[number] = [socket]
            return number
        }
    }

    /// Registers the socket to the server as well; `false` if the proxy is stopping.
    private func add(_ socket: Socket, to number: Int) -> Bool {
        state.withLock { state in
            state.sockets[number]?.append(socket)
            return !state.isStopping
        }
    }

    /// Closes under the lock, so that a reused descriptor is never shut down.
    private func close(_ number: Int) {
        state.withLock { state in
            for socket in state.sockets.removeValue(forKey: number) ?? [] { socket.close() }
        }
    }

    private func serve(_ client: Socket, _ number: Int) {
        client.prepare()
        var session: TLSSession?
        if let context {
            guard let accepted = context.accept(client) else { return }
            session = accepted
        }
        defer { session?.free() }
        let line = ClientLine(socket: client, session: session)
        guard let (port, first) = approach.target(of: line) else { return }
        guard let server = try? Socket.connected(to: port), add(server, to: number) else { return }
        server.prepare()
        _ = first.withUnsafeBytes { server.send($0) }
        ProxyConnection(client: line, server: server, link: link(number)).run()
    }
}

/// Runs the body with a proxy to a server, then shuts down the proxy's sockets and joins its threads.
/// - Parameters:
///   - server: The server that connections are carried to.
///   - certificate: Presented to clients, which must then use TLS; the server itself never does.
///   - requiresCertificate: Whether the client must present a certificate too; any will do.
///   - link: How a connection is carried, given its number, counted from zero.
///   - body: Receives the proxy.
/// - Returns: The body's result.
/// - Throws: The body's error, or `CallFailure` if the proxy cannot be started.
package func withFaultProxy<Result>(
    to server: FaultServer,
    presenting certificate: TestCertificate? = nil,
    requiresCertificate: Bool = false,
    link: @escaping @Sendable (Int) -> Link = { _ in Link() },
    _ body: (FaultProxy) async throws -> Result
) async throws -> Result {
    let proxy = try FaultProxy(
        by: .fixed(server.port),
        presenting: certificate,
        requiresCertificate: requiresCertificate,
        link: link
    )
    return try await run(proxy, body)
}

/// Runs the body with a proxy that clients are configured to use, then stops it.
/// - Parameters:
///   - dialogue: The proxy protocol spoken before a connection is carried.
///   - certificate: Presented to clients, which must then use TLS to the proxy.
///   - body: Receives the proxy.
/// - Returns: The body's result.
/// - Throws: The body's error, or `CallFailure` if the proxy cannot be started.
package func withForwardProxy<Result>(
    _ dialogue: ProxyDialogue,
    presenting certificate: TestCertificate? = nil,
    _ body: (FaultProxy) async throws -> Result
) async throws -> Result {
    let proxy = try FaultProxy(by: .requested(dialogue), presenting: certificate, requiresCertificate: false) { _ in
        Link()
    }
    return try await run(proxy, body)
}

private func run<Result>(_ proxy: FaultProxy, _ body: (FaultProxy) async throws -> Result) async throws -> Result {
    do {
        try proxy.start()
        let result = try await body(proxy)
        await proxy.stop()
        return result
    } catch {
        await proxy.stop()
        throw error
    }
}
