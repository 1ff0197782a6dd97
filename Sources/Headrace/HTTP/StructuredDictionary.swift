/// A dictionary in the syntax of structured fields (RFC 9651, section 3.2), reduced to its byte sequences.
///
/// Values of other types and all parameters are ignored. Any error invalidates the whole dictionary (section 4.2).
struct StructuredDictionary: Sendable, Hashable {
    /// The byte sequences by key.
    private(set) var byteSequences: [String: [UInt8]] = [:]

    /// Parses the joined lines of a field; returns `nil` if they are not a dictionary.
    init?(parsing text: String) {
        var text = FieldScanner(text)
        text.skipBlanks(withTabs: false)
        guard !text.isAtEnd else { return }
        while true {
            guard let key = text.key() else { return nil }
            // The last value of a repeated key counts, even if it is of another type.
            byteSequences[key] = nil
            if text.skip("=") {
                guard let value = text.member() else { return nil }
                if case .bytes(let bytes) = value { byteSequences[key] = bytes }
            }
            guard text.parameters() else { return nil }
            text.skipBlanks(withTabs: true)
            guard !text.isAtEnd else { return }
            guard text.skip(",") else { return nil }
            text.skipBlanks(withTabs: true)
        }
    }
}

/// A parsed value; only byte sequences are retained.
private enum Member {
    case bytes([UInt8])
    case other
}

/// The parsing steps of RFC 9651, section 4.2.
extension FieldScanner {
    fileprivate mutating func skipBlanks(withTabs: Bool) {
        _ = take { withTabs ? $0.isBlank : $0 == UInt8(ascii: " ") }
    }

    fileprivate mutating func key() -> String? {
        guard let first = next, first.isLowercase || first == UInt8(ascii: "*") else { return nil }
        return String(take { $0.isLowercase || $0.isDigit || "_-.*".utf8.contains($0) })
    }

    fileprivate mutating func parameters() -> Bool {
        while skip(";") {
            skipBlanks(withTabs: false)
            guard key() != nil else { return false }
            if skip("="), item() == nil { return false }
        }
        return true
    }

    /// Reads an item or an inner list; returns `nil` if it is malformed.
    fileprivate mutating func member() -> Member? {
        guard skip("(") else { return item() }
        while true {
            skipBlanks(withTabs: false)
            if skip(")") { return .other }
            guard item() != nil, parameters() else { return nil }
            guard let next = next, next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else { return nil }
        }
    }

    fileprivate mutating func item() -> Member? {
        guard let first = take() else { return nil }
        switch first {
        case UInt8(ascii: ":"):
            let text = take { $0 != UInt8(ascii: ":") }
            guard skip(":"), !text.utf8.contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) else {
                return nil
            }
            return [UInt8](base64: text).map { .bytes($0) }
        case UInt8(ascii: "\""): return string(escape: UInt8(ascii: "\\")) ? .other : nil
        case UInt8(ascii: "%"): return skip("\"") && string(escape: nil) ? .other : nil
        case UInt8(ascii: "?"): return skip("0") || skip("1") ? .other : nil
        case UInt8(ascii: "-"): return number() ? .other : nil
        case UInt8(ascii: "@"):
            _ = skip("-")
            return number() ? .other : nil
        case _ where first.isDigit:
            _ = take { $0.isDigit || $0 == UInt8(ascii: ".") }
            return .other
        case _ where first.isLetter || first == UInt8(ascii: "*"):
            _ = take { HeaderField.isTokenCharacter($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
            return .other
        default: return nil
        }
    }

    fileprivate mutating func number() -> Bool {
        guard next?.isDigit == true else { return false }
        _ = take { $0.isDigit || $0 == UInt8(ascii: ".") }
        return true
    }

    /// Skips the rest of a string after its opening quote; returns `false` if it is malformed.
    fileprivate mutating func string(escape: UInt8?) -> Bool {
        while let byte = take() {
            if byte == escape {
                guard let next = take(), next == escape || next == UInt8(ascii: "\"") else { return false }
            } else if byte == UInt8(ascii: "\"") {
                return true
            } else if !(0x20...0x7e).contains(byte) {
                return false
            }
        }
        return false
    }
}

extension UInt8 {
    fileprivate var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    fileprivate var isLetter: Bool { isLowercase || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
}
