/// The file names that a `Content-Disposition` field proposes (RFC 6266); its disposition type is ignored.
///
/// Parsed as leniently as browsers do: malformed parameters are skipped and the rest is used. The names are untrusted
/// and must be passed through ``SafeFileName``.
struct ContentDisposition: Sendable, Hashable {
    /// The decoded names: the first `filename*`, then the first `filename` (RFC 6266, section 4.3).
    let fileNames: [String]

    /// Parses the value of a field in linear time, whatever it contains.
    init(parsing text: String) {
        var extended: String?
        var plain: String?
        var rest = text.utf8[...]
        while !rest.isEmpty {
            // Text without a value is the disposition type, or malformed.
            let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            rest = rest[name.endIndex...]
            guard rest.popFirst() == UInt8(ascii: "=") else { continue }
            let value = Self.value(at: &rest)
            switch Substring(name).trimmed.lowercased() {
            case "filename*" where extended == nil: extended = Self.extendedText(of: value)
            case "filename" where plain == nil: plain = Self.plainText(of: value)
            default: break
            }
        }
        fileNames = [extended, plain].compactMap(\.self)
    }

    /// Reads the names from the fields of a response; earlier fields take precedence.
    init(of head: borrowing ResponseHead) {
        fileNames = head.values("content-disposition").flatMap { ContentDisposition(parsing: $0).fileNames }
    }

    /// Returns the quoted or unquoted value at the start of `rest`, and consumes everything up to the next parameter.
    private static func value(at rest: inout Substring.UTF8View) -> [UInt8] {
        rest = rest.drop(while: \.isBlank)
        let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: ";") }
        var value: [UInt8] = []
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            // An unterminated quoted string extends to the end of the text.
            while var byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { byte = escaped }
                value.append(byte)
            }
            rest = rest.drop { !isEnd($0) }
        } else {
            let token = rest.prefix { !isEnd($0) }
            rest = rest[token.endIndex...]
            value = Array(Substring(token).trimmed.utf8)
        }
        rest = rest.dropFirst()
        return value
    }

    /// Decodes percent-encoded UTF-8, as browsers do although no RFC specifies it; returns other text unchanged.
    private static func plainText(of value: [UInt8]) -> String {
        String(validating: value.percentDecoded, as: UTF8.self) ?? String(decoding: value, as: UTF8.self)
    }

    /// Decodes `charset'language'text` (RFC 8187, section 3.2.1); returns `nil` if the text or the charset is invalid.
    private static func extendedText(of value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": String(validating: parts[2].percentDecoded, as: UTF8.self)
        case "iso-8859-1": String(latin1: parts[2].percentDecoded)
        default: nil
        }
    }
}
