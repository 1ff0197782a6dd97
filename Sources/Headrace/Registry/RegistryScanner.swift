import HeadracePlatform

/// Reads a line of JSON (RFC 8259) that contains no whitespace between values; numbers must be integers, except in
/// skipped values.
///
/// It is several times faster than a general decoder. This matters because a long queue must be read before any
/// download starts.
struct RegistryScanner {
    /// A value is malformed, missing or not of the expected type.
    struct Failure: Error, Hashable {}

    /// The maximum nesting of arrays and objects in a skipped value.
    private static let maxDepth = 64

    private let bytes: ArraySlice<UInt8>
    private var index: Int
    /// Whether a value was read in the innermost array or object, so that a comma precedes the next one.
    private var needsComma = false
    /// The last path that was read, cached because consecutive downloads often have the same folder.
    private var lastPath: (text: ArraySlice<UInt8>, path: RelocatablePath)?

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    /// Whether all bytes were read.
    var isAtEnd: Bool { index == bytes.endIndex }

    // MARK: Arrays and objects

    mutating func beginList() throws(Failure) { try begin("[") }

    mutating func endList() throws(Failure) { try end("]") }

    /// Whether the current array has no more values.
    var isAtListEnd: Bool { next == UInt8(ascii: "]") }

    /// Reads an object of names and numbers; if a name is repeated, its last number is used.
    mutating func numbers() throws(Failure) -> [String: Int64] {
        var numbers: [String: Int64] = [:]
        try begin("{")
        while next != UInt8(ascii: "}") {
            let name = try name()
            numbers[name] = try integer()
        }
        try end("}")
        return numbers
    }

    // MARK: Values

    mutating func text() throws(Failure) -> String {
        let quoted = try quoted()
        return try Self.text(quoted.content, hasEscapes: quoted.hasEscapes)
    }

    /// Reads an array of texts.
    mutating func texts() throws(Failure) -> [String] {
        var texts: [String] = []
        try beginList()
        while !isAtListEnd { texts.append(try text()) }
        try endList()
        return texts
    }

    /// Reads a path in the form of ``RelocatablePath/description``.
    mutating func path() throws(Failure) -> RelocatablePath {
        let quoted = try quoted()
        if let lastPath, lastPath.text == quoted.content { return lastPath.path }
        guard let path = RelocatablePath(try Self.text(quoted.content, hasEscapes: quoted.hasEscapes)) else {
            throw Failure()
        }
        lastPath = (quoted.content, path)
        return path
    }

    /// Reads the identity of a download: exactly sixteen hexadecimal digits in lower case.
    mutating func id() throws(Failure) -> UInt64 {
        guard let id = UInt64(hexadecimal: try quoted().content) else { throw Failure() }
        return id
    }

    mutating func integer<Integer: FixedWidthInteger>() throws(Failure) -> Integer {
        separate()
        let isNegative = next == UInt8(ascii: "-")
        if isNegative { index += 1 }
        let start = index
        var value: Integer = 0
        while let digit = nextDigit {
            let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let digit = Integer(truncatingIfNeeded: digit)
            let (sum, overflow) =
                isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            guard !tooLarge, !overflow else { throw Failure() }
            value = sum
            index += 1
        }
        guard !needsComma, index > start, index == start + 1 || bytes[start] != UInt8(ascii: "0") else {
            throw Failure()
        }
        needsComma = true
        return value
    }

    mutating func flag() throws(Failure) -> Bool {
        separate()
        if next == UInt8(ascii: "t") {
            try take("true")
            return true
        }
        try take("false")
        return false
    }

    /// Skips a value of any type.
    mutating func skip() throws(Failure) { try skip(depth: 0) }

    // MARK: Parts

    private var next: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private var nextDigit: UInt8? {
        guard let next, next &- UInt8(ascii: "0") < 10 else { return nil }
        return next &- UInt8(ascii: "0")
    }

    /// Reads the comma before a value if one is needed; if that comma is missing, reading the value fails.
    private mutating func separate() {
        guard needsComma, next == UInt8(ascii: ",") else { return }
        index += 1
        needsComma = false
    }

    private mutating func begin(_ bracket: Unicode.Scalar) throws(Failure) {
        separate()
        guard !needsComma, next == UInt8(ascii: bracket) else { throw Failure() }
        index += 1
    }

    private mutating func end(_ bracket: Unicode.Scalar) throws(Failure) {
        guard next == UInt8(ascii: bracket) else { throw Failure() }
        index += 1
        needsComma = true
    }

    private mutating func take(_ word: StaticString) throws(Failure) {
        let end = index + word.utf8CodeUnitCount
        guard !needsComma, end <= bytes.endIndex,
            word.withUTF8Buffer({ bytes[index..<end].elementsEqual($0) })
        else { throw Failure() }
        index = end
        needsComma = true
    }

    private mutating func name() throws(Failure) -> String {
        let name = try text()
        guard next == UInt8(ascii: ":") else { throw Failure() }
        index += 1
        needsComma = false
        return name
    }

    private mutating func skip(depth: Int) throws(Failure) {
        guard depth < Self.maxDepth else { throw Failure() }
        separate()
        switch next {
        case UInt8(ascii: "["):
            try beginList()
            while !isAtListEnd { try skip(depth: depth + 1) }
            try endList()
        case UInt8(ascii: "{"):
            try begin("{")
            while next != UInt8(ascii: "}") {
                _ = try name()
                try skip(depth: depth + 1)
            }
            try end("}")
        case UInt8(ascii: "\""): _ = try text()
        case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try flag()
        case UInt8(ascii: "n"): try take("null")
        default: try skipNumber()
        }
    }

    private mutating func skipNumber() throws(Failure) {
        func digits() throws(Failure) {
            let start = index
            while nextDigit != nil { index += 1 }
            guard index > start else { throw Failure() }
        }
        guard !needsComma else { throw Failure() }
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        needsComma = true
    }

    /// Reads the text between quotes, without decoding its escapes.
    private mutating func quoted() throws(Failure) -> (content: ArraySlice<UInt8>, hasEscapes: Bool) {
        try begin("\"")
        let start = index
        var hasEscapes = false
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                needsComma = true
                return (bytes[start..<index - 1], hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index += 2
            case 0..<0x20: throw Failure()
            default: index += 1
            }
        }
        throw Failure()
    }

    private static func text(_ content: ArraySlice<UInt8>, hasEscapes: Bool) throws(Failure) -> String {
        // Few texts have escapes, so the slow decoder is good enough for them.
        let text =
            hasEscapes
            ? try? JSONDecoder().decode(String.self, from: Data("\"".utf8) + content + Data("\"".utf8))
            : String(validating: content, as: UTF8.self)
        guard let text else { throw Failure() }
        return text
    }
}
