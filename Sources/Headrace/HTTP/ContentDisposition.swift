/// What a `Content-Disposition` field proposes to call a file (RFC 6266; its type does not matter to who saves the body).
///
/// Read as browsers read it: what is malformed is passed over, and nothing refuses the rest. The proposals are text of the
/// server's choice: only ``SafeFileName`` makes names of them.
struct ContentDisposition: Sendable, Hashable {
    /// `filename*` before `filename` (RFC 6266, section 4.3), each where it can be read; of several the first.
    let fileNames: [String]

    /// Takes one step for each byte, whatever the text.
    init(parsing text: String) {
        var extended: String?
        var plain: String?
        var rest = text.utf8[...]
        while !rest.isEmpty {
            // What has no value is the type, or is passed over.
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

    /// Reads the fields of an answer; where there are several, the first is believed most.
    init(of head: borrowing ResponseHead) {
        fileNames = head.values("content-disposition").flatMap { ContentDisposition(parsing: $0).fileNames }
    }

    /// Takes a value, quoted or not, and all up to the next parameter.
    private static func value(at rest: inout Substring.UTF8View) -> [UInt8] {
        rest = rest.drop(while: \.isBlank)
        let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: ";") }
        var value: [UInt8] = []
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            // A quote that is missing stands at the end.
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

    /// Percent-encoded UTF-8 is decoded, as browsers do though no RFC says so; other text stays as it is.
    private static func plainText(of value: [UInt8]) -> String {
        String(validating: value.percentDecoded, as: UTF8.self) ?? String(decoding: value, as: UTF8.self)
    }

    /// `charset'language'text` (RFC 8187, section 3.2.1); nil where the text is not in the charset that it names.
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
