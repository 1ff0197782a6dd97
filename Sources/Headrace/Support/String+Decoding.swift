extension String {
    /// Decodes UTF-8, or ISO 8859-1 if the bytes are not valid UTF-8, since some servers send that encoding.
    init(utf8OrLatin1 bytes: some Collection<UInt8>) { self = String(utf8: bytes) ?? String(latin1: bytes) }

    /// Decodes UTF-8; returns `nil` if the bytes are not valid UTF-8.
    init?(utf8 bytes: some Collection<UInt8>) {
        // Most text is ASCII, which needs no validation.
        guard !bytes.allSatisfy({ $0 < 0x80 }) else {
            self = String(decoding: bytes, as: UTF8.self)
            return
        }
        self.init(validating: bytes, as: UTF8.self)
    }

    /// Decodes ISO 8859-1, in which each byte is a character.
    init(latin1 bytes: some Collection<UInt8>) {
        self.init(UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension Collection<UInt8> {
    /// The bytes with each escape, such as `%41`, decoded (RFC 3986, section 2.1); a `%` without two hexadecimal digits
    /// is unchanged.
    var percentDecoded: [UInt8] {
        guard contains(UInt8(ascii: "%")) else { return Array(self) }
        var decoded: [UInt8] = []
        var rest = self[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigit, let low = rest.dropFirst().first?.hexDigit {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Whether the byte is a space or a tab (RFC 9110, section 5.6.3).
    package var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// The value of a hexadecimal digit; `nil` for other bytes.
    var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
