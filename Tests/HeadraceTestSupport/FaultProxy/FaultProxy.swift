import Headrace
package import HeadracePlatform

/// A proxy on a port of 127.0.0.1 that carries connections to a server badly, or encrypted, or both.
package final class FaultProxy: Sendable {
    private struct State {
        var connectionCount = 0
        var sockets: [Int: [Socket]] = [:]
        var isStopping = false
    }

    /// Whether libssl could be loaded, without which there are no certificates to present.
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

    /// How many connections were accepted, ever.
    package var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Returns the URL of a path in its encoded form; https where the proxy presents a certificate.
    package func url(_ path: String = "/") -> URL {
        let text = "\(context == nil ? "http" : "https")://127.0.0.1:\(listener.port)\(path)"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return url
    }

    /// Returns the URL under which clients are told of it, as one that is asked where to go.
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

    /// Registers a connection and returns its number; nil when the proxy is stopping.
    private func open(_ socket: Socket) -> Int? {
        state.withLock { state in
            guard !state.isStopping else { return nil }
            let number = state.connectionCount
            state.connectionCount += 1
            state.sockets[number] = [socket]
            return number
        }
    }

    /// Registers the socket to the server as well; false when the proxy is stopping.
    private func add(_ socket: Socket, to number: Int) -> Bool {
        state.withLock { state in
            state.sockets[number]?.append(socket)
            return !state.isStopping
        }
    }

    /// Closes under the lock, so that no one can shut down a descriptor that was given anew.
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

/// Runs the body beside a proxy to a server, and takes the proxy down afterwards: sockets shut, threads joined.
/// - Parameters:
///   - server: Where connections are carried to.
///   - certificate: Presented to clients, who must speak TLS then; the server itself never does.
///   - asksForCertificate: Whether clients have to present one too, whichever it is.
///   - link: How a connection is carried, by its number from zero.
///   - body: Gets the proxy.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or `CallFailure` when no proxy can be started.
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

/// Runs the body beside a proxy that clients are told to use, and takes it down afterwards.
/// - Parameters:
///   - dialogue: What it wants to hear before it carries a connection.
///   - certificate: Presented to clients, who must speak TLS to it then.
///   - body: Gets the proxy.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or `CallFailure` when no proxy can be started.
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
