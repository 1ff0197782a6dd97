import HeadracePlatform

/// One connection of the hostile server.
struct HostileConnection: Sendable {
    /// Below this rate in bytes per second, a response may use a short send buffer.
    private static let slow = 8 << 20

    let server: HostileServer
    let socket: Int32

    func serve() {
        var buffered: [UInt8] = []
        while let head = LoopbackConnection.readHead(from: socket, &buffered) {
            let request = LoopbackRequest(head)
            guard response(request), request.isKept else { return }
        }
    }

    /// Sends the response; `false` if the connection must be closed.
    private func response(_ request: LoopbackRequest) -> Bool {
        let parts = request.path.split(separator: "/")
        guard request.method == "GET", parts.count == 2, let file = Int(parts[1]), file >= 0,
            let behaviour = HostileServer.Behaviour(rawValue: String(parts[0]))
        else {
            return LoopbackConnection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", to: socket)
        }
        let turn = server.nextTurn(of: file, behaviour)
        let tag = "\"\(file)-\(turn.version)\""
        let size = server.size(of: file)
        let ignoresIfRange = behaviour == .rangeless && request.field("if-range") != nil
        let selection = ignoresIfRange ? .whole : request.range(of: size, tag: tag)
        let (head, body) = selection.head(of: size, tag: tag)
        guard LoopbackConnection.send(head, to: socket) else { return false }
        let rate = server.rate
        if rate > 0, rate < Self.slow { keepBufferShort() }
        let delivery = server.begin(at: body.lowerBound, of: file, behaviour)
        let sender = PacedSender(socket: socket, rate: rate) { server.count($0, in: delivery) }
        let content = VersionedContent(file: file, version: turn.version)
        guard let cut = turn.cut else { return sender.send(body, of: content) }
        let sent = body.prefix(Int(cut.share * Double(body.count)))
        if sender.send(sent, of: content), cut.isReset { resetOnClose() }
        return false
    }

    /// Shortens the send buffer: the server counts its bytes as sent, but a killed client never receives them.
    ///
    /// Not for fast responses, which would wait 40 ms for an acknowledgement whenever the short buffer is full.
    private func keepBufferShort() {
        var size: Int32 = 64 << 10
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes closing the socket send a reset, like a crashed server.
    private func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

/// Sends bytes at a limited rate.
private struct PacedSender {
    let socket: Int32
    /// The rate in bytes per second; 0 for no limit.
    let rate: Int
    /// Called with the size of every piece before it is sent.
    let count: (Int) -> Void

    func send(_ range: Range<Int>, of content: VersionedContent) -> Bool {
        // Small pieces for a slow response; for a fast one, no system call every few microseconds.
        let chunk = rate == 0 ? 1 << 18 : min(1 << 18, max(1 << 12, rate / 64))
        var window = ContentWindow(capacity: chunk)
        let start = MonotonicTime.now
        var position = range.lowerBound
        while position < range.upperBound {
            let end = min(position + chunk, range.upperBound)
            count(end - position)
            let isSent = window.withBytes(of: content, in: position..<end) { FileSystem.writeAll($0, to: socket) }
            guard isSent else { return false }
            position = end
            guard rate > 0 else { continue }
            let ahead = Double(position - range.lowerBound) / Double(rate) - (MonotonicTime.now - start)
            if ahead > 0 { usleep(UInt32(ahead * 1_000_000)) }
        }
        return true
    }
}
