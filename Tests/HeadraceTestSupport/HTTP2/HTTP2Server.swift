import CHeadraceTestSupport
import Headrace
package import HeadracePlatform

/// An HTTP/2 server over TLS on a port of 127.0.0.1 that sends the frames of a script.
///
/// Each connection has its own thread. A client that does not offer HTTP/2 is carried to the fallback server, if any.
package final class HTTP2Server: Sendable {
    private struct State {
        var connectionCount = 0
        var maxOpenConnections = 0
        var requests: [RecordedRequest] = []
        var sockets: [Int: [Socket]] = [:]
        var isStopping = false
    }

    /// Whether libssl and libnghttp2 could be loaded.
    package static var isAvailable: Bool { TLSContext.isAvailable && HeaderDecoder.isAvailable }

    private let listener: Listener
    private let context: TLSContext
    private let fallback: UInt16?
    private let settings: [(identifier: UInt16, value: UInt32)]
    private let script: @Sendable (RecordedRequest) -> [HTTP2Step]
    private let state = Locked(State())
    private let acceptor = Locked<Acceptor?>(nil)

    fileprivate init(
        settings: [(identifier: UInt16, value: UInt32)],
        fallback: FaultServer?,
        script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step]
    ) throws {
        self.settings = settings
        self.script = script
        self.fallback = fallback?.port
        context = try TLSContext(
            .trusted,
            requiresCertificate: false,
            protocols: HTLS_HTTP_2 | (fallback == nil ? 0 : HTLS_HTTP_1)
        )
        listener = try Listener()
    }

    /// The total number of accepted connections.
    package var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// The most connections that were open at the same time.
    package var maxOpenConnections: Int { state.withLock { $0.maxOpenConnections } }

    /// The HTTP/2 requests in the order in which their scripts started; the fallback server records its own.
    package var requests: [RecordedRequest] { state.withLock { $0.requests } }

    /// Returns the URL of a percent-encoded path.
    package func url(_ path: String = "/") -> URL {
        let text = "https://127.0.0.1:\(listener.port)\(path)"
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

    /// Registers a connection and returns its number; `nil` if the server is stopping.
    private func open(_ socket: Socket) -> Int? {
        state.withLock { state in
            guard !state.isStopping else { return nil }
            let number = state.connectionCount
            state.connectionCount += 1
            state.sockets[number] = [socket]
            // A client that has hung up may not have been noticed yet.
            let open = Socket.liveCount(state.sockets.values.compactMap(\.first))
            state.maxOpenConnections = max(state.maxOpenConnections, open)
            return number
        }
    }

    /// Registers the socket to the fallback server as well; `false` if the server is stopping.
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
        guard let session = context.accept(client) else { return }
        defer { session.free() }
        let line = ClientLine(socket: client, session: session)
        guard session.isHTTP2 else {
            guard let fallback, let server = try? Socket.connected(to: fallback), add(server, to: number) else {
                return
            }
            server.prepare()
            return ProxyConnection(client: line, server: server, link: Link()).run()
        }
        guard let decoder = HeaderDecoder() else { return }
        defer { decoder.free() }
        var connection = HTTP2Connection(line, session, number, decoder)
        connection.run(settings: settings) { script(record($0)) }
    }

    /// Records a request with its index and its number among the requests for the same path.
    private func record(_ arrived: RecordedRequest) -> RecordedRequest {
        state.withLock { state in
            var request = arrived
            request.index = state.requests.count
            request.attempt = state.requests.count { $0.path == arrived.path }
            state.requests.append(request)
            return request
        }
    }
}

/// Runs the body with a scripted HTTP/2 server, then shuts down the server's sockets and joins its threads.
/// - Parameters:
///   - settings: The first SETTINGS frame, as identifiers and values (RFC 9113, section 6.5.2).
///   - fallback: Serves clients that do not offer HTTP/2; without it, their handshake fails.
///   - script: Returns the frames for a request; called on the connection's thread.
///   - body: Receives the server.
/// - Returns: The body's result.
/// - Throws: The body's error, or `CallFailure` if the server cannot be started.
package func withHTTP2Server<Result>(
    settings: [(identifier: UInt16, value: UInt32)] = [],
    fallback: FaultServer? = nil,
    script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step],
    _ body: (HTTP2Server) async throws -> Result
) async throws -> Result {
    let server = try HTTP2Server(settings: settings, fallback: fallback, script: script)
    do {
        try server.start()
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}
