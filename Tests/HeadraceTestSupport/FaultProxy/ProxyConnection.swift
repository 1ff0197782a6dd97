import HeadracePlatform

/// Carries one client connection to the server behind the proxy and back, on one thread.
struct ProxyConnection {
    let client: ClientLine
    let server: Socket
    let link: Link

    /// Carries bytes until a side or the link ends the connection; the sockets stay open.
    func run() {
        guard let ending = carry() else { return }
        switch ending {
        case .fin:
            client.finish(saysGoodbye: link.saysGoodbye)
        case .reset:
            client.socket.armReset()
        case .stall:
            _ = client.socket.wait()
        }
    }

    /// Returns how to end the client's connection; `nil` if the client has ended it.
    private func carry() -> Ending? {
        let start = ContinuousClock.now
        var up = DelayLine(latency: link.latency)
        var down = DelayLine(latency: link.latency, bytesPerSecond: link.bytesPerSecond)
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        var rest = link.cut?.offset ?? .max
        var isServerDone = false
        while true {
            let now = start.duration(to: .now)
            while let piece = up.receive(at: now) {
                _ = piece.withUnsafeBytes { server.send($0) }
            }
            while rest > 0, let piece = down.receive(at: now) {
                let part = piece.prefix(Int(clamping: rest))
                guard part.withUnsafeBytes(client.send) else { return nil }
                rest -= Int64(part.count)
            }
            if rest <= 0, let cut = link.cut { return cut.ending }
            if isServerDone, down.isEmpty { return .fin }

            let isHeldBack = isServerDone || down.isFull
            var sockets = [
                pollfd(fd: client.socket.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isHeldBack ? -1 : server.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let arrival = [up.nextArrival, down.nextArrival].compactMap(\.self).min()
            guard Poll.wait(for: &sockets, timeout: arrival.map { $0 - start.duration(to: .now) }) else { continue }
            if sockets[0].revents != 0 {
                repeat {
                    let count = client.receive(into: &buffer)
                    guard count > 0 else { return nil }
                    up.send(buffer[..<count], at: start.duration(to: .now))
                } while client.session?.hasPending == true
            }
            if sockets[1].revents != 0 {
                let count = server.receive(into: &buffer)
                if count > 0 { down.send(buffer[..<count], at: start.duration(to: .now)) }
                isServerDone = count == 0
            }
        }
    }
}

/// A client's connection, with or without TLS.
struct ClientLine {
    let socket: Socket
    let session: TLSSession?

    /// Receives available bytes, waiting if there are none; zero or less once the connection has ended.
    func receive(into buffer: inout [UInt8]) -> Int {
        session?.receive(into: &buffer) ?? socket.receive(into: &buffer)
    }

    /// Sends all bytes; `false` if the connection broke.
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        session.map { $0.send(bytes) } ?? (socket.send(bytes) == bytes.count)
    }

    func finish(saysGoodbye: Bool = true) {
        if saysGoodbye { session?.sayGoodbye() }
        socket.finish()
    }
}
