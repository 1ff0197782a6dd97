/// A link in a `Link` field (RFC 8288, section 3).
struct WebLink: Sendable {
    /// The maximum total size, in bytes, of the `Link` fields read from one response.
    static let maxBytes = 64 << 10
    /// The maximum number of links read from one response.
    static let maxLinks = 256

    /// The text between `<` and `>`: a URL, possibly relative to the requested one.
    let target: String
    /// The parameters in order; the names are in lower case, and the value is empty if it is missing.
    private let parameters: [(name: String, value: String)]

    /// Returns the value of the first parameter with this lower-case name, or `nil` if there is none.
    func value(_ name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// Returns whether the link has this lower-case relation type (RFC 8288, section 3.3).
    func has(relation: String) -> Bool {
        value("rel")?.lowercased().split { $0 == " " || $0 == "\t" }.contains { $0 == relation } == true
    }

    /// Reads the links in a response, up to ``maxBytes`` and ``maxLinks``.
    static func all(of head: ResponseHead) -> [WebLink] {
        Array(head.values("link", maxBytes: maxBytes).flatMap(all(in:)).prefix(maxLinks))
    }

    /// Parses one field value as RFC 8288, appendix B.2, describes, up to the first text that is not a link.
    static func all(in text: String) -> [WebLink] {
        var links: [WebLink] = []
        var text = FieldScanner(text)
        while links.count < maxLinks, let target = text.target() {
            links.append(WebLink(target: target, parameters: text.parameters()))
        }
        return links
    }
}

extension FieldScanner {
    private static let maxParameters = 32

    fileprivate mutating func take(until ends: String) -> String {
        String(take { !ends.utf8.contains($0) })
    }

    mutating func skipBlanks(and other: String = "") {
        _ = take { $0.isBlank || other.utf8.contains($0) }
    }

    /// Skips commas and reads the next target; returns `nil` if no link follows.
    fileprivate mutating func target() -> String? {
        skipBlanks(and: ",")
        guard skip("<") else { return nil }
        let target = take(until: ">")
        return skip(">") ? target.trimmingBlanks : nil
    }

    /// Reads the parameters of a link, up to the comma after it.
    fileprivate mutating func parameters() -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        while true {
            skipBlanks()
            guard skip(";") else { break }
            skipBlanks()
            let name = take(until: " \t=;,").lowercased()
            skipBlanks()
            var value = ""
            if skip("=") {
                skipBlanks()
                value = skip("\"") ? quoted() : take(until: ";,").trimmingBlanks
            }
            if !name.isEmpty, parameters.count < Self.maxParameters { parameters.append((name, value)) }
        }
        _ = take(until: ",")
        return parameters
    }

    /// Reads the rest of a quoted string, up to its closing quote or, if the quote is missing, to the end.
    mutating func quoted() -> String {
        var value: [UInt8] = []
        while var byte = take(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = take() { byte = escaped }
            value.append(byte)
        }
        return String(decoding: value, as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmingBlanks: String { String(self[...].trimmed) }
}
