/// Reads requests from a connection, one at a time.
struct RequestReader {
    /// The result of reading.
    enum Outcome {
        case request(RecordedRequest)
        case malformed
        case ended
    }

    private static let headLimit = 1 << 20
    private static let blankLine: [UInt8] = [13, 10, 13, 10]

    private let socket: Socket
    private let connection: Int
    private var buffered: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 16 * 1024)

    init(socket: Socket, connection: Int) {
        self.socket = socket
        self.connection = connection
    }

    mutating func next() -> Outcome {
        var searched = 0
        while true {
            if let end = endOfHead(from: max(0, searched - 3)) {
                let head = String(decoding: buffered[..<end], as: UTF8.self)
                buffered.removeFirst(end)
                return request(head)
            }
            searched = buffered.count
            guard searched < RequestReader.headLimit else { return .malformed }
            // A TLS handshake never contains the end of a head, so it is rejected at once, as servers do.
            if buffered.first == 0x16 { return .malformed }
            guard receive() else { return .ended }
        }
    }

    /// The index after the blank line.
    private func endOfHead(from start: Int) -> Int? {
        guard buffered.count >= start + 4 else { return nil }
        return (start...(buffered.count - 4))
            .first { buffered[$0] == 13 && buffered[$0..<($0 + 4)].elementsEqual(RequestReader.blankLine) }
            .map { $0 + 4 }
    }

    private mutating func receive() -> Bool {
        let count = socket.receive(into: &chunk)
        buffered += chunk[..<count]
        return count > 0
    }

    private mutating func request(_ head: String) -> Outcome {
        // CR LF is one `Character`.
        var lines = head.split(separator: "\r\n").map(String.init)
        guard !lines.isEmpty else { return .malformed }
        let start = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard start.count == 3, start[2].hasPrefix("HTTP/1.") else { return .malformed }
        var fields: [RecordedRequest.Field] = []
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return .malformed }
            let value = line[line.index(after: colon)...].trimmingBlanks
            fields.append(.init(name: String(line[..<colon]), value: value))
        }
        let length = fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        while buffered.count < length {
            guard receive() else { return .ended }
        }
        let body = Array(buffered.prefix(length))
        buffered.removeFirst(length)
        return .request(
            RecordedRequest(
                connection: connection,
                method: start[0],
                target: start[1],
                version: start[2],
                fields: fields,
                body: body
            )
        )
    }
}

extension Substring {
    fileprivate var trimmingBlanks: String {
        var rest = drop { $0 == " " || $0 == "\t" }
        while rest.last == " " || rest.last == "\t" { rest.removeLast() }
        return String(rest)
    }
}
