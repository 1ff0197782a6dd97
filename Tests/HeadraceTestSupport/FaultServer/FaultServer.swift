import Headrace
package import HeadracePlatform

/// An in-process HTTP server on a port of 127.0.0.1 that misbehaves as the test requires.
///
/// Every connection has its own thread, outside the cooperative pool. Many servers can run side by side.
package final class FaultServer: Sendable {
    private let listener: Listener
    private let log = TrafficLog()
    private let response: Response
    private let greeting: @Sendable (Int) -> Ending?
    private let acceptor = Locked<Acceptor?>(nil)

    fileprivate init(_ response: Response, onIPv6: Bool, greeting: @escaping @Sendable (Int) -> Ending?) throws {
        self.response = response
        self.greeting = greeting
        listener = try Listener(onIPv6: onIPv6)
    }

    /// Whether a server can listen on ::1.
    package static var hasIPv6: Bool {
        guard let listener = try? Listener(onIPv6: true) else { return false }
        listener.close()
        return true
    }

    /// The port on 127.0.0.1 or ::1.
    package var port: UInt16 {
        listener.port
    }

    /// A consistent snapshot of everything the server has seen.
    package var traffic: Traffic {
        log.traffic
    }

    /// All requests in order of arrival.
    package var requests: [RecordedRequest] {
        traffic.requests
    }

    /// The total number of accepted connections.
    package var connectionCount: Int {
        traffic.connectionCount
    }

    /// Returns the URL of a path and optional query, both percent-encoded.
    ///
    /// `localhost` makes the server look like another host, but may also resolve to `::1`, on which it does not listen.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> URL {
        let text = "http://\(host):\(port)\(path)"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return url
    }

    /// Starts to accept connections, if `withFaultServer` was called with `isListening: false`.
    /// - Throws: `CallFailure` if the port cannot listen or no thread can be started.
    package func listen() throws {
        try acceptor.withLock { acceptor in
            precondition(acceptor == nil, "The server listens already")
            try listener.listen()
            acceptor = try Acceptor(
                listener,
                open: { [log] in log.open($0) },
                serve: { [log, response, greeting] socket, number in
                    Connection(socket, number: number, log: log)
                        .run(answering: response, greeting: greeting(number))
                },
                close: { [log] in log.close($0) }
            )
        }
    }

    /// Suspends until at least `count` requests have arrived.
    /// - Parameter count: The minimum number of requests.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    package func waitForRequests(count: Int) async throws {
        try await waitUntil { $0.requests.count >= count }
    }

    /// Suspends until the traffic satisfies a condition.
    /// - Parameter condition: Evaluated after every change; called on any thread, under the server's lock.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    package func waitUntil(_ condition: @escaping @Sendable (Traffic) -> Bool) async throws {
        try await log.wait(until: condition)
    }

    /// Ends every connection and returns once the last thread has ended.
    fileprivate func stop() async {
        log.stop()
        await acceptor.withLock { $0 }?.stop()
        listener.close()
    }
}

/// Runs the body with a server, then shuts down the server's sockets and joins its threads.
/// - Parameters:
///   - response: The response to every request; `.routes`, `.sequence` and `.answering` choose among responses.
///   - onIPv6: Whether the server listens on ::1; its URLs then need the host `[::1]`.
///   - isListening: Whether the port accepts connections; if not, it refuses them until `listen()`.
///   - greeting: Returns how to end a just accepted connection, given its number from zero; `nil` serves it.
///   - body: Receives the server.
/// - Returns: The body's result.
/// - Throws: The body's error, or `CallFailure` if the server cannot be started.
package func withFaultServer<Result>(
    _ response: Response,
    onIPv6: Bool = false,
    isListening: Bool = true,
    greeting: @escaping @Sendable (Int) -> Ending? = { _ in nil },
    _ body: (FaultServer) async throws -> Result
) async throws -> Result {
    let server = try FaultServer(response, onIPv6: onIPv6, greeting: greeting)
    do {
        if isListening { try server.listen() }
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}
