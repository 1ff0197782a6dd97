import Headrace

/// The server side of an HTTP or SOCKS proxy protocol, up to the point where the connection is carried.
///
/// It connects to 127.0.0.1 whatever the requested host, so a host without an address shows which side resolved it.
package final class ProxyDialogue: Sendable {
    /// The proxy protocol.
    package enum Kind: Sendable {
        /// Requests in absolute form, and `CONNECT`.
        case http
        /// SOCKS5 (RFC 1928), with username and password (RFC 1929).
        case socks5
    }

    /// A client's request to the proxy.
    package struct Request: Sendable, Hashable {
        /// The request line, or `SOCKS host:port`.
        package var line: String
        /// The credentials as they were sent.
        package var login: String?
        /// The HTTP header fields, one line each.
        package var fields: [String] = []
    }

    private let kind: Kind
    private let login: String?
    private let refusal: Int?
    private let log = Locked<[Request]>([])

    /// Creates a dialogue.
    /// - Parameters:
    ///   - kind: The protocol.
    ///   - login: The only accepted login, such as `Basic dTpw` or (SOCKS) `user:password`; `nil` accepts any.
    ///   - refusal: The status with which every request is refused; `nil` for none.
    package init(_ kind: Kind, login: String? = nil, refusal: Int? = nil) {
        self.kind = kind
        self.login = login
        self.refusal = refusal
    }

    /// The requests in order of arrival.
    package var requests: [Request] { log.withLock { $0 } }

    /// Returns the port to connect to and the bytes to send there first; `nil` if the client was refused.
    func target(of client: ClientLine) -> (port: UInt16, first: [UInt8])? {
        switch kind {
        case .http: httpTarget(of: client)
        case .socks5: socksTarget(of: client)
        }
    }

    // MARK: HTTP

    private func httpTarget(of client: ClientLine) -> (port: UInt16, first: [UInt8])? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1, of: client) else { return nil }
            head += byte
        }
        // CR LF is one `Character`.
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n").map(String.init)
        let line = lines.removeFirst()
        let sent = lines.first { $0.lowercased().hasPrefix("proxy-authorization:") }
            .map { String($0.dropFirst("proxy-authorization: ".count)) }
        log.withLock { $0.append(Request(line: line, login: sent, fields: lines)) }
        if let status = login != nil && sent != login ? 407 : refusal {
            let challenge = status == 407 ? "Proxy-Authenticate: Basic realm=\"proxy\"\r\n" : ""
            say("HTTP/1.1 \(status) No\r\n\(challenge)Content-Length: 0\r\nConnection: close\r\n\r\n", to: client)
            client.finish()
            return nil
        }
        let parts = line.split(separator: " ").map(String.init)
        guard parts.count == 3 else { return nil }
        if parts[0] == "CONNECT" {
            guard let port = parts[1].split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
            say("HTTP/1.1 200 Connected\r\n\r\n", to: client)
            return (port, [])
        }
        let address = parts[1].dropFirst("http://".count)
        let authority = address.prefix { $0 != "/" }
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
        // One request per connection, so that each one is recorded.
        let kept = lines.filter { !$0.lowercased().hasPrefix("proxy-") }
        let request =
            ["\(parts[0]) \(address.dropFirst(authority.count)) HTTP/1.1"] + kept + ["Connection: close", "", ""]
        return (port, Array(request.joined(separator: "\r\n").utf8))
    }

    // MARK: SOCKS

    private func socksTarget(of client: ClientLine) -> (port: UInt16, first: [UInt8])? {
        guard let greeting = read(2, of: client), let methods = read(Int(greeting[1]), of: client) else { return nil }
        let method: UInt8 = login == nil ? 0 : 2
        guard methods.contains(method) else {
            say([5, 0xff], to: client)
            client.finish()
            return nil
        }
        say([5, method], to: client)
        var sent: String?
        if login != nil {
            guard let start = read(2, of: client), let user = read(Int(start[1]), of: client),
                let count = read(1, of: client), let password = read(Int(count[0]), of: client)
            else { return nil }
            sent = String(decoding: user + Array(":".utf8) + password, as: UTF8.self)
            say([1, sent == login ? 0 : 1], to: client)
        }
        guard let request = sent == login ? read(4, of: client) : nil, let host = host(request[3], of: client),
            let bytes = read(2, of: client)
        else {
            client.finish()
            return nil
        }
        let port = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        log.withLock { $0.append(Request(line: "SOCKS \(host):\(port)", login: sent)) }
        say([5, UInt8(refusal ?? 0), 0, 1, 0, 0, 0, 0, 0, 0], to: client)
        guard refusal == nil else {
            client.finish()
            return nil
        }
        return (port, [])
    }

    private func host(_ kind: UInt8, of client: ClientLine) -> String? {
        let count = kind == 1 ? 4 : kind == 4 ? 16 : read(1, of: client).map { Int($0[0]) }
        guard let count, let bytes = read(count, of: client) else { return nil }
        return kind == 3 ? String(decoding: bytes, as: UTF8.self) : IPAddress(bytes: bytes)?.description
    }

    // MARK: Bytes

    private func read(_ count: Int, of client: ClientLine) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: count - bytes.count)
            let received = client.receive(into: &part)
            guard received > 0 else { return nil }
            bytes += part[..<received]
        }
        return bytes
    }

    private func say(_ text: String, to client: ClientLine) {
        say(Array(text.utf8), to: client)
    }

    private func say(_ bytes: [UInt8], to client: ClientLine) {
        _ = bytes.withUnsafeBytes { client.send($0) }
    }
}

/// How a proxy chooses the server for a connection.
enum Approach: Sendable {
    /// Always to this port.
    case fixed(UInt16)
    /// The port that the client requests in the dialogue.
    case requested(ProxyDialogue)

    func target(of client: ClientLine) -> (port: UInt16, first: [UInt8])? {
        switch self {
        case .fixed(let port): (port, [])
        case .requested(let dialogue): dialogue.target(of: client)
        }
    }
}
