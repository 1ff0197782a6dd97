/// A link of a `Link` field (RFC 8288, section 3).
struct WebLink: Sendable, Hashable {
    /// The most bytes of `Link` fields that are read of one answer.
    static let maxBytes = 64 << 10
    /// The most links of one answer.
    static let maxLinks = 256

    /// What is between `<` and `>`: a URL, perhaps relative to the one that was asked.
    let target: String
    /// Names in lower case, with their values, empty for a name alone; in order.
    private let parameters: [(name: String, value: String)]

    /// The value of the first parameter with this name, which is in lower case.
    func value(_ name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// Whether the link is of this kind (section 3.3); `relation` is in lower case.
    func has(relation: String) -> Bool {
        value("rel")?.lowercased().split { $0 == " " || $0 == "\t" }.contains { $0 == relation } == true
    }

    static func == (lhs: WebLink, rhs: WebLink) -> Bool {
        lhs.target == rhs.target && lhs.parameters.elementsEqual(rhs.parameters, by: ==)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(target)
    }

    /// Reads the links of an answer, as far as the bounds go.
    static func all(of head: ResponseHead) -> [WebLink] {
        Array(head.values("link", maxBytes: maxBytes).flatMap(all(in:)).prefix(maxLinks))
    }

    /// Reads one field as appendix B.2 has it: up to what is no link, in one step for each byte.
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

    /// The next target, past the commas between two links.
    fileprivate mutating func target() -> String? {
        skipBlanks(and: ",")
        guard skip("<") else { return nil }
        let target = take(until: ">")
        return skip(">") ? target.trimmingBlanks : nil
    }

    /// All up to the comma after the link.
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

    /// What is up to the next quote; one that is missing stands at the end.
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
