package import HeadracePlatform

extension URL {
    /// Parses a URL or a relative reference, and first encodes the characters that its path, query and fragment must
    /// not contain, such as blanks and letters outside ASCII (RFC 3986, section 2.1).
    ///
    /// Returns `nil` if the text is not a URL even then. Escapes in the text, such as `%20`, are unchanged, while
    /// `URL(string:)` may encode their percent signs again.
    package init?(encoding text: String, relativeTo base: URL? = nil) {
        self.init(string: text.encodingURLCharacters, relativeTo: base)
    }
}

extension String {
    /// The text of a URL with the characters encoded that its path, query and fragment must not contain.
    fileprivate var encodingURLCharacters: String {
        guard !withBytes({ $0.allSatisfy(\.isPlainInURL) }) else { return self }
        let bytes = Array(utf8)
        let start = bytes.authorityEnd
        let fragment = bytes[start...].firstIndex(of: UInt8(ascii: "#"))
        var encoded = Array(bytes[..<start])
        for (position, byte) in bytes.enumerated().dropFirst(start) {
            let isAllowed =
                switch byte {
                case UInt8(ascii: "%"): bytes[position...].dropFirst().prefix(2).count { $0.hexDigit != nil } == 2
                case UInt8(ascii: "#"): position == fragment
                default: byte.isLetterOrDigit || "-._~!$&'()*+,;=:@/?".utf8.contains(byte)
                }
            if isAllowed { encoded.append(byte) } else { encoded += "%\(byte.hexadecimal.uppercased())".utf8 }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether the byte is a letter, a digit, or one of the punctuation marks that are common in URLs and are never
    /// encoded.
    fileprivate var isPlainInURL: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"),
            UInt8(ascii: ":"):
            true
        default: isLetterOrDigit
        }
    }
}

extension [UInt8] {
    /// The position after the authority of a URL; 0 if the URL has no authority.
    fileprivate var authorityEnd: Int {
        let start = prefix { $0.isLetterOrDigit || "+-.".utf8.contains($0) }.count
        let isAbsolute = self[start...].starts(with: "://".utf8)
        guard isAbsolute || starts(with: "//".utf8) else { return 0 }
        let authority = isAbsolute ? start + 3 : 2
        return self[authority...].firstIndex { "/?#".utf8.contains($0) } ?? count
    }
}
