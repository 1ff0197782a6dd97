import Headrace
package import HeadracePlatform

/// An HTTP server inside the test's process that answers as badly as it is told to, on a port of 127.0.0.1.
///
/// Every connection has a thread of its own, away from the cooperative pool. Many servers can run side by side.
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

    /// Whether a server can be at ::1.
    package static var hasIPv6: Bool {
        guard let listener = try? Listener(onIPv6: true) else { return false }
        listener.close()
        return true
    }

    /// The port on 127.0.0.1 or ::1.
    package var port: UInt16 {
        listener.port
    }

    /// All that was seen up to now, in one consistent picture.
    package var traffic: Traffic {
        log.traffic
    }

    /// All requests in the order of their arrival.
    package var requests: [RecordedRequest] {
        traffic.requests
    }

    /// How many connections were accepted, ever.
    package var connectionCount: Int {
        traffic.connectionCount
    }

    /// Returns the URL of a path, with a query where wanted, both in their encoded form.
    ///
    /// Called `localhost`, the server looks like another host, but that name may stand for `::1` too, where it is not.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> URL {
        let text = "http://\(host):\(port)\(path)"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return url
    }

    /// Begins to accept connections, where `withFaultServer` was told not to.
    /// - Throws: `CallFailure` when the port cannot listen or there is no thread left.
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

    /// Suspends until so many requests have arrived.
    /// - Parameter count: The least number of requests.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func waitForRequests(count: Int) async throws {
        try await waitUntil { $0.requests.count >= count }
    }

    /// Suspends until what was seen satisfies a condition.
    /// - Parameter condition: Judges the traffic after every change; called on any thread, under the server's lock.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func waitUntil(_ condition: @escaping @Sendable (Traffic) -> Bool) async throws {
        try await log.wait(until: condition)
    }

    /// Ends every connection and returns when the last thread has ended.
    fileprivate func stop() async {
        log.stop()
        await acceptor.withLock { $0 }?.stop()
        listener.close()
    }
}

/// Runs the body beside a server, and takes the server down afterwards: sockets shut, threads joined.
/// - Parameters:
///   - response: What the server answers; `.routes`, `.sequence` and `.answering` choose among responses.
///   - onIPv6: Whether it is at ::1, whose URLs have the host `[::1]`.
///   - isListening: False for a port that refuses connections until `listen()`.
///   - greeting: Ends a connection right after it was accepted, by its number from zero; `nil` lets it live.
///   - body: Gets the server.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or `CallFailure` when no server can be started.
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
