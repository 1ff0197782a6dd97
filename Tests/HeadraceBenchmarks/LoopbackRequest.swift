/// The parts of a request head that the loopback server uses.
struct LoopbackRequest: Sendable {
    let method: String
    /// The path relative to the root, which it never leaves.
    let path: String
    let pace: Pace?
    /// Whether the connection is persistent (RFC 9112, section 9.3).
    let isKept: Bool
    private let fields: [String: String]

    enum Selection: Sendable, Equatable {
        case whole
        case part(Range<Int>)
        case unsatisfiable
    }

    init(_ head: String) {
        let lines = head.split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields[line[..<colon].lowercased()] = String(value)
        }
        let target = words.count == 3 ? words[1].prefix { $0 != "?" } : ""
        var components = target.split(separator: "/")[...]
        method = words.first.map(String.init) ?? ""
        pace = components.first.flatMap { Pace(component: $0) }
        if pace != nil { components.removeFirst() }
        path = components.contains("..") ? "" : components.joined(separator: "/")
        isKept = words.last == "HTTP/1.1" && fields["connection"]?.lowercased() != "close"
        self.fields = fields
    }

    /// Returns the value of a field, given its lower-case name.
    func field(_ name: String) -> String? {
        fields[name]
    }

    /// Returns the requested bytes of a file: one range (RFC 9110, section 14.2), or everything if there is no single
    /// range or if `If-Range` does not match.
    func range(of size: Int, tag: String) -> Selection {
        guard let value = fields["range"], value.hasPrefix("bytes="), !value.contains(",") else { return .whole }
        if let condition = fields["if-range"], condition != tag { return .whole }
        let bounds = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return .whole }
        if bounds[0].isEmpty {
            guard let suffix = Int(bounds[1]) else { return .whole }
            return suffix > 0 && size > 0 ? .part(max(0, size - suffix)..<size) : .unsatisfiable
        }
        guard let first = Int(bounds[0]) else { return .whole }
        guard let last = bounds[1].isEmpty ? size - 1 : Int(bounds[1]), bounds[1].isEmpty || last >= first else {
            return .whole
        }
        return first < size ? .part(first..<min(last + 1, size)) : .unsatisfiable
    }
}

extension LoopbackRequest.Selection {
    /// Returns the response head for a file, and the bytes of its body.
    func head(of size: Int, tag: String) -> (text: String, body: Range<Int>) {
        let (status, body, contentRange): (String, Range<Int>, String?) =
            switch self {
            case .whole: ("200 OK", 0..<size, nil)
            case .part(let part):
                ("206 Partial Content", part, "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)")
            case .unsatisfiable: ("416 Range Not Satisfiable", 0..<0, "bytes */\(size)")
            }
        let lines = [
            "HTTP/1.1 \(status)", "Content-Type: application/octet-stream", "Accept-Ranges: bytes", "ETag: \(tag)",
            "Content-Length: \(body.count)",
        ]
        let text = (lines + (contentRange.map { ["Content-Range: \($0)"] } ?? [])).joined(separator: "\r\n")
        return (text + "\r\n\r\n", body)
    }
}
