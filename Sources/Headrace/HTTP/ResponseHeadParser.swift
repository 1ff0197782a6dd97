import HeadracePlatform

/// Builds a response head from its lines, with bounds on what a server may send.
///
/// Interim answers (RFC 9110, section 15.2) are skipped but counted; lines after the final head are trailers
/// (section 6.5), which are bounded as well and otherwise ignored.
struct ResponseHeadParser: Sendable {
    /// All lines of an answer together, interim ones and trailers included.
    static let maxBytes = 256 * 1024
    /// Fields of one head.
    static let maxFields = 1000
    /// The interim answers that put off the end of the wait for the final one.
    static let maxInterimResponses = 100

    enum Step: Equatable {
        case more
        case head(ResponseHead)
        case invalid(String)
        /// A status line after a complete head: the request was sent again, and what follows is another response.
        case repeated
    }

    private static let framing: Set<String> = ["content-length", "transfer-encoding"]

    private let url: URL
    /// The major version of HTTP that was negotiated with the server; `nil` if that is not known.
    var negotiatedVersion: Int?
    private var byteCount = 0
    private var interimCount = 0
    private var status: Int?
    private var isMultiplexed = false
    private var fields: [HeaderField] = []
    private(set) var isComplete = false
    /// Whether the next line is a status line.
    var isAtStatusLine: Bool { status == nil && !isComplete }
    /// Whether the next line begins a head, and so puts off the end of the wait for the final one; not without end.
    var extendsStallTimeout: Bool { isAtStatusLine && interimCount <= Self.maxInterimResponses }

    init(url: URL) {
        self.url = url
    }

    /// Takes one line with its line end.
    mutating func consume(_ line: UnsafeRawBufferPointer) -> Step {
        byteCount += line.count
        guard byteCount <= Self.maxBytes else {
            return .invalid("The response header is longer than \(Self.maxBytes / 1024) KiB.")
        }
        // No trailer has such a name.
        guard !isComplete else { return line.starts(with: "HTTP/".utf8) ? .repeated : .more }
        var text = line
        if text.last == UInt8(ascii: "\n") { text = UnsafeRawBufferPointer(rebasing: text.dropLast()) }
        if text.last == UInt8(ascii: "\r") { text = UnsafeRawBufferPointer(rebasing: text.dropLast()) }
        guard !text.contains(0), !text.contains(UInt8(ascii: "\r")) else {
            return .invalid("The response header has a control character in a line.")
        }
        guard status != nil else { return startHead(text) }
        guard !text.isEmpty else { return endHead() }
        return field(text)
    }

    private mutating func startHead(_ line: UnsafeRawBufferPointer) -> Step {
        // "HTTP/1.1 200 OK" or "HTTP/2 200"; whatever libcurl lets pass is one of them.
        let blank = UInt8(ascii: " ")
        let version = line.prefix { $0 != blank }
        let code = line[version.endIndex...].dropFirst().prefix { $0 != blank }
        guard version.starts(with: "HTTP/".utf8), code.count == 3, code.allSatisfy(\.isDigit) else {
            return .invalid("The answer does not begin with an HTTP status line.")
        }
        let isMultiplexed = !version.starts(with: "HTTP/1".utf8)
        // The framing depends on the version, so the text must not choose it (RFC 9112, section 2.3).
        if let negotiatedVersion, isMultiplexed != (negotiatedVersion > 1) {
            let text = String(utf8OrLatin1: UnsafeRawBufferPointer(rebasing: version)).printable
            return .invalid("The response claims to be \(text) on a connection of HTTP/\(negotiatedVersion).")
        }
        let status = code.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard (100...599).contains(status) else {
            return .invalid("The answer does not begin with an HTTP status line.")
        }
        self.status = status
        fields.reserveCapacity(16)
        self.isMultiplexed = isMultiplexed
        return .more
    }

    private mutating func endHead() -> Step {
        guard let status else { return .more }
        defer { fields = [] }
        guard status >= 200 || status == 101 else {
            self.status = nil
            interimCount += 1
            return .more
        }
        isComplete = true
        return .head(ResponseHead(url: url, status: status, fields: fields, isMultiplexed: isMultiplexed))
    }

    private mutating func field(_ line: UnsafeRawBufferPointer) -> Step {
        if line.first?.isBlank == true {
            // A folded line, which RFC 9112, section 5.2, has replaced with a blank.
            guard let last = fields.indices.last else { return .invalid("The response header begins with a blank.") }
            // Others read no more than the first line of it.
            guard !Self.framing.contains(fields[last].name.lowercased()) else {
                return .invalid("The response header has a folded \(fields[last].name).")
            }
            fields[last].value += " " + String(utf8OrLatin1: UnsafeRawBufferPointer(rebasing: line[...].trimmed))
            return .more
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = Self.name(line[..<colon]) else {
            return .invalid("The response header has a line that is no field.")
        }
        guard fields.count < Self.maxFields else {
            return .invalid("The response header has more than \(Self.maxFields) fields.")
        }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...].trimmed)
        fields.append(HeaderField(name: name, value: String(utf8OrLatin1: value)))
        return .more
    }

    /// The name in front of a colon, nil for what is none.
    ///
    /// Blanks behind it are removed, as RFC 9112, section 5.1, has proxies do, but not where the length of the body depends on it:
    /// others may have taken that line for no field.
    private static func name(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        var name = bytes
        while let last = name.last, last.isBlank { name.removeLast() }
        guard !name.isEmpty, name.allSatisfy(HeaderField.isTokenCharacter) else { return nil }
        let text = String(utf8OrLatin1: UnsafeRawBufferPointer(rebasing: name))
        return name.count == bytes.count || !framing.contains(text.lowercased()) ? text : nil
    }
}
