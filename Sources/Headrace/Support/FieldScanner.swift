/// Scans the text of a header field from front to back; each header grammar adds its own methods in an extension.
struct FieldScanner {
    // Not `String.UTF8View`, whose indices cost several times as much.
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }
    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Skips `literal` if it comes next in the text; returns whether it was skipped.
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

    /// Reads a number of exactly `digits` digits; returns `nil` if fewer digits come next.
    ///
    /// The number must not overflow an `Int`.
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
