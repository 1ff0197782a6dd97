/// Writes a line of JSON (RFC 8259), without whitespace, as ``RegistryScanner`` requires.
struct RegistryWriter {
    private(set) var bytes: [UInt8] = []
    /// Whether the innermost array or object has a value, so that a comma precedes the next one.
    private var needsComma = false

    mutating func beginList() { begin("[") }

    mutating func endList() { end("]") }

    mutating func write(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: Self.needsEscape) {
            text.utf8.forEach { escape($0) }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func write(_ texts: [String]) {
        beginList()
        for text in texts { write(text) }
        endList()
    }

    mutating func write(_ integer: some FixedWidthInteger) {
        separate()
        bytes.append(contentsOf: String(integer).utf8)
    }

    mutating func write(_ flag: Bool) {
        separate()
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    mutating func write(id: UInt64) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes += id.hexadecimalDigits
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes an object of names and numbers, in the given order.
    mutating func write(_ numbers: some Sequence<(name: String, number: Int64)>) {
        begin("{")
        for (name, number) in numbers {
            write(name)
            bytes.append(UInt8(ascii: ":"))
            needsComma = false
            write(number)
        }
        end("}")
    }

    /// Discards the written text, and reuses its memory.
    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func begin(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    private mutating func end(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        if byte < 0x20 {
            bytes.append(contentsOf: "\\u00\(byte.hexadecimal)".utf8)
        } else {
            if Self.needsEscape(byte) { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
    }
}
