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
        guard
            let text = hasEscapes
                ? String(validating: try unescaped(content), as: UTF8.self) : String(validating: content, as: UTF8.self)
        else { throw Failure() }
        return text
    }

    private static func unescaped(_ content: ArraySlice<UInt8>) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = content
        while let escape = rest.firstIndex(of: UInt8(ascii: "\\")) {
            bytes += rest[..<escape]
            rest = rest[(escape + 1)...]
            switch rest.popFirst() {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0c)
            case UInt8(ascii: "n"): bytes.append(0x0a)
            case UInt8(ascii: "r"): bytes.append(0x0d)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"): bytes += Array(String(try scalar(&rest)).utf8)
            case .some(let byte) where "\"\\/".utf8.contains(byte): bytes.append(byte)
            default: throw Failure()
            }
        }
        return bytes + rest
    }

    /// Reads the digits of a `\u` escape, and the whole next escape if both form a surrogate pair; returns the scalar.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) throws(Failure) -> Unicode.Scalar {
        let unit = try codeUnit(&rest)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), rest.starts(with: "\\u".utf8) else { throw Failure() }
        rest = rest.dropFirst(2)
        let trail = try codeUnit(&rest)
        guard UTF16.isTrailSurrogate(trail),
            let scalar = Unicode.Scalar(0x1_0000 + (UInt32(unit & 0x3ff) << 10 | UInt32(trail & 0x3ff)))
        else { throw Failure() }
        return scalar
    }

    private static func codeUnit(_ rest: inout ArraySlice<UInt8>) throws(Failure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw Failure()
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
