package import HeadracePlatform

/// Runs the body with a port of 127.0.0.1 that never responds to a connection attempt, as if every packet were lost.
///
/// The port's accept queue is full, so Linux drops further SYN packets.
/// - Parameter body: Receives a URL with that port.
/// - Returns: The body's result.
/// - Throws: The body's error, or `CallFailure` if the accept queue does not fill up.
package func withSilentPort<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let listener = try Listener()
    defer { listener.close() }
    try listener.listen(backlog: 0)
    var waiting: [Socket] = []
    defer { for socket in waiting { socket.close() } }
    for _ in 0..<16 {
        let (socket, isConnected) = try Socket.connecting(to: listener.port)
        waiting.append(socket)
        var descriptors = [pollfd(fd: socket.descriptor, events: Int16(POLLOUT), revents: 0)]
        guard !isConnected, !Poll.wait(for: &descriptors, timeout: .milliseconds(100)) else { continue }
        let text = "http://127.0.0.1:\(listener.port)/"
        guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
        return try await body(url)
    }
    throw CallFailure("listen", code: 0)
}
