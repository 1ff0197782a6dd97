/// Takes the text of a header field apart from its front; each grammar adds its own steps.
struct FieldScanner {
    // Not the string's own view, whose indices cost several times as much.
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }
    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Goes past a literal, if it is next.
    mutating func skip(_ literal: StaticString) -> Bool {
        literal.withUTF8Buffer { text in
            guard next == text.first, bytes[position...].starts(with: text) else { return false }
            position += text.count
            return true
        }
    }

    mutating func take() -> UInt8? {
        guard let byte = next else { return nil }
        position += 1
        return byte
    }

    mutating func take(while isTaken: (UInt8) -> Bool) -> Substring {
        let taken = bytes[position...].prefix(while: isTaken)
        position = taken.endIndex
        return Substring(decoding: taken, as: UTF8.self)
    }

    /// Reads a number of exactly so many digits, few enough for it to be one.
    mutating func number(_ digits: Int) -> Int? {
        guard digits <= bytes.count - position else { return nil }
        var number = 0
        for byte in bytes[position..<position + digits] {
            guard byte.isDigit else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        position += digits
        return number
    }
}
