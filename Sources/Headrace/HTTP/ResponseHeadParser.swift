import HeadracePlatform

/// Parses a response head line by line, with limits on what a server may send.
///
/// Interim responses (RFC 9110, section 15.2) are skipped but counted. Lines after the final head are trailers (section
/// 6.5), which count toward the size limit and are otherwise ignored.
struct ResponseHeadParser: Sendable {
    /// The maximum size in bytes of all lines of a response, including interim responses and trailers.
    static let maxBytes = 256 * 1024
    /// The maximum number of fields in one head.
    static let maxFields = 1000
    /// The maximum number of interim responses that restart the stall timeout.
    static let maxInterimResponses = 100

    enum Step: Equatable {
        case more
        case head(ResponseHead)
        case invalid(String)
        /// A status line after a complete head: libcurl repeated the request, and another response follows.
        case repeated
    }

    private static let framing: Set<String> = ["content-length", "transfer-encoding"]

    private let url: URL
    /// The major version of HTTP that was negotiated with the server; `nil` if it is unknown.
    var negotiatedVersion: Int?
    private var byteCount = 0
    private var interimCount = 0
    private var status: Int?
    private var isMultiplexed = false
    private var fields: [HeaderField] = []
    private(set) var isComplete = false
    /// Whether the next line is a status line.
    var isAtStatusLine: Bool { status == nil && !isComplete }
    /// Whether the next line begins a head and so restarts the stall timeout, up to ``maxInterimResponses`` times.
    var extendsStallTimeout: Bool { isAtStatusLine && interimCount <= Self.maxInterimResponses }

    init(url: URL) {
        self.url = url
    }

    /// Consumes one line, including its line ending; returns the head if the line completes it.
    mutating func consume(_ line: UnsafeRawBufferPointer) -> Step {
        byteCount += line.count
        guard byteCount <= Self.maxBytes else {
            return .invalid("The response header is longer than \(Self.maxBytes / 1024) KiB.")
        }
        // The name of a field cannot contain a slash, so a line that starts with `HTTP/` is not a trailer.
        guard !isComplete else { return line.starts(with: "HTTP/".utf8) ? .repeated : .more }
        var text = line
        if text.last == UInt8(ascii: "\n") { text = UnsafeRawBufferPointer(rebasing: text.dropLast()) }
        if text.last == UInt8(ascii: "\r") { text = UnsafeRawBufferPointer(rebasing: text.dropLast()) }
        guard text.index(of: 0) == nil, text.index(of: UInt8(ascii: "\r")) == nil else {
            return .invalid("The response header has a control character in a line.")
        }
        guard status != nil else { return startHead(text) }
        guard !text.isEmpty else { return endHead() }
        return field(text)
    }

    private mutating func startHead(_ line: UnsafeRawBufferPointer) -> Step {
        // `HTTP/1.1 200 OK` or `HTTP/2 200`; some servers send two blanks.
        let blank = UInt8(ascii: " ")
        let version = line.prefix { $0 != blank }
        let code = line[version.endIndex...].drop { $0 == blank }.prefix { $0 != blank }
        guard version.starts(with: "HTTP/".utf8), code.count == 3, code.allSatisfy(\.isDigit) else {
            return .invalid("The response does not begin with an HTTP status line.")
        }
        let isMultiplexed = !version.starts(with: "HTTP/1".utf8)
        // The version determines the framing, so the status line must match the negotiated one (RFC 9112, section 2.3).
        if let negotiatedVersion, isMultiplexed != (negotiatedVersion > 1) {
            let text = String(utf8OrLatin1: UnsafeRawBufferPointer(rebasing: version)).printable
            return .invalid("The response claims to be \(text) on a connection of HTTP/\(negotiatedVersion).")
        }
        let status = code.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard status >= 100 else { return .invalid("The response does not begin with an HTTP status line.") }
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
            // The line continues the previous field; the fold becomes a space (RFC 9112, section 5.2).
            guard let last = fields.indices.last else { return .invalid("The response header begins with a blank.") }
            // A proxy may have read only the first line of the field, and so have found another body length.
            guard !Self.framing.contains(fields[last].name.lowercased()) else {
                return .invalid("The response header has a folded \(fields[last].name).")
            }
            fields[last].value += " " + String(utf8OrLatin1: UnsafeRawBufferPointer(rebasing: line[...].trimmed))
            return .more
        }
        guard let colon = line.index(of: UInt8(ascii: ":")),
            let name = Self.name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        else {
            return .invalid("The response header has a line that is not a field.")
        }
        guard fields.count < Self.maxFields else {
            return .invalid("The response header has more than \(Self.maxFields) fields.")
        }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...].trimmed)
        fields.append(HeaderField(name: name, value: Self.value(value, of: name)))
        return .more
    }

    /// Decodes the value of a field.
    ///
    /// In `Location`, non-ASCII bytes are percent-encoded, because a redirect must lead to a URL with exactly these
    /// bytes, which need not be UTF-8.
    private static func value(_ bytes: UnsafeRawBufferPointer, of name: String) -> String {
        guard name.utf8.count == 8, name.lowercased() == "location", bytes.contains(where: { $0 >= 0x80 }) else {
            return String(utf8OrLatin1: bytes)
        }
        let encoded = bytes.flatMap { $0 < 0x80 ? [$0] : Array("%\($0.hexadecimal.uppercased())".utf8) }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns the field name before a colon, or `nil` if it is invalid.
    ///
    /// Whitespace after the name is removed, as RFC 9112, section 5.1, requires of proxies. Other characters that are
    /// not allowed remain, so that the name matches no known field.
    ///
    /// A name with any such character is invalid if its letters and hyphens form the name of a field that determines
    /// the body's length: a proxy may have recognized that field.
    private static func name(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard bytes.isEmpty || !HeaderField.areTokenCharacters(bytes) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var name = bytes
        while let last = name.last, last.isBlank { name = UnsafeRawBufferPointer(rebasing: name.dropLast()) }
        guard !name.isEmpty else { return nil }
        let text = String(utf8OrLatin1: name)
        let letters = String(text.lowercased().unicodeScalars.filter { ("a"..."z").contains($0) || $0 == "-" })
        return framing.contains(letters) ? nil : text
    }
}
