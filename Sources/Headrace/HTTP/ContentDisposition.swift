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
        var text = FieldScanner(text)
        while !text.isAtEnd {
            // Text without a value is the disposition type, or malformed.
            let name = text.take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            guard text.take() == UInt8(ascii: "=") else { continue }
            text.skipBlanks()
            let value = text.skip("\"") ? text.quoted() : String(text.take { $0 != UInt8(ascii: ";") }.trimmed)
            _ = text.take { $0 != UInt8(ascii: ";") }
            _ = text.take()
            switch name.trimmed.lowercased() {
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

    /// Decodes percent-encoded UTF-8, as browsers do although no RFC specifies it; returns other text unchanged.
    private static func plainText(of value: String) -> String {
        String(validating: value.utf8.percentDecoded, as: UTF8.self) ?? value
    }

    /// Decodes `charset'language'text` (RFC 8187, section 3.2.1); returns `nil` if the text or the charset is invalid.
    private static func extendedText(of value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return switch Substring(parts[0]).lowercased() {
        case "utf-8": String(validating: parts[2].percentDecoded, as: UTF8.self)
        case "iso-8859-1": String(latin1: parts[2].percentDecoded)
        default: nil
        }
    }
}
