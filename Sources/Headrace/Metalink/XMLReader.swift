/// Parses a small and strict subset of XML 1.0, one event at a time: elements, attributes, text and namespaces.
///
/// Document types are rejected, as are all but the five predefined entities, so a document can neither expand itself
/// nor refer to other resources. Only UTF-8 is supported. ``next()`` throws when it reaches a malformed part.
struct XMLReader {
    /// The name of an element or attribute, with its namespace.
    struct Name: Hashable {
        /// The URI of the namespace; empty if there is none.
        var namespace: String
        var local: String
    }

    /// A start tag, an end tag, or the text between two tags.
    enum Event: Hashable {
        case start(Name, attributes: [Name: String])
        /// Text between two tags, never empty; comments do not split it.
        case text(String)
        case end(Name)
    }

    /// The reason why a document is rejected, and the byte offset of the problem.
    struct Failure: Error, Hashable {
        var reason: String
        var offset: Int
    }

    static let maxDepth = 32
    static let maxAttributes = 32
    /// The maximum number of prefix bindings in effect, which are searched for each name.
    static let maxBindings = 32

    private struct Open {
        var rawName: ArraySlice<UInt8>
        var name: Name
        /// The number of namespace declarations that were in effect before this element.
        var bindings: Int
    }

    private let bytes: [UInt8]
    /// The offset in bytes at which the next event is read.
    private(set) var offset = 0
    private var open: [Open] = []
    private var bindings: [(prefix: String, namespace: String)] = [
        ("xml", "http://www.w3.org/XML/1998/namespace")
    ]
    private var hasRoot = false
    /// Whether the end of an element such as `<a/>` must be returned next.
    private var pendingEnd = false

    /// Creates a reader for a document; throws if it is not UTF-8 or its XML declaration is invalid.
    init(_ bytes: [UInt8]) throws(Failure) {
        self.bytes = bytes
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(reason: "it is not UTF-8", offset: 0)
        }
        offset = bytes.withoutByteOrderMark.startIndex
        if startsWith("<?xml") { try readDeclaration() }
    }

    /// Reads and returns the next event, or `nil` at the end of the document; throws if the next part is malformed.
    mutating func next() throws(Failure) -> Event? {
        if pendingEnd { return endElement() }
        var text: [UInt8] = []
        while true {
            if offset == bytes.count {
                guard open.isEmpty, hasRoot else { throw failure("it is truncated") }
                return nil
            }
            if bytes[offset] != UInt8(ascii: "<") {
                try readText(into: &text)
            } else if startsWith("<!--") {
                try skip(past: "-->", from: 4, "a comment")
            } else if startsWith("<![CDATA[") {
                guard !open.isEmpty else { throw failure("there is text outside the root element") }
                let start = offset + 9
                try skip(past: "]]>", from: 9, "a CDATA section")
                text += bytes[start..<offset - 3]
            } else if startsWith("<?") {
                try skip(past: "?>", from: 2, "an instruction")
            } else if startsWith("<!") {
                throw failure("it has a document type declaration, which is not supported")
            } else if !text.isEmpty {
                return .text(String(decoding: text, as: UTF8.self))
            } else {
                return startsWith("</") ? try readEnd() : try readStart()
            }
        }
    }

    // MARK: Pieces

    private mutating func readDeclaration() throws(Failure) {
        let start = offset
        try skip(past: "?>", from: 5, "the declaration")
        let text = String(decoding: bytes[start..<offset], as: UTF8.self).lowercased()
        guard let encoding = text.firstRange(of: "encoding") else { return }
        let value = text[encoding.upperBound...].drop { " \t\r\n='\"".contains($0) }
        guard value.hasPrefix("utf-8") || value.hasPrefix("us-ascii") else {
            throw Failure(reason: "it declares an encoding other than UTF-8", offset: start)
        }
    }

    private mutating func readText(into text: inout [UInt8]) throws(Failure) {
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "<") {
            guard !open.isEmpty || bytes[offset].isXMLSpace else {
                throw failure("there is text outside the root element")
            }
            try readCharacter(into: &text)
        }
        if open.isEmpty { text = [] }
    }

    private mutating func readCharacter(into text: inout [UInt8]) throws(Failure) {
        let byte = bytes[offset]
        guard byte >= 0x20 || byte.isXMLSpace else { throw failure("it contains a control character") }
        guard byte == UInt8(ascii: "&") else {
            text.append(byte)
            offset += 1
            return
        }
        // The longest reference, `&#x10FFFF;`, has ten characters.
        guard let end = bytes[offset...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
            let scalar = Self.scalar(String(decoding: bytes[offset + 1..<end], as: UTF8.self))
        else { throw failure("it contains an unsupported entity") }
        text += Array(String(Character(scalar)).utf8)
        offset = end + 1
    }

    private static func scalar(_ reference: String) -> Unicode.Scalar? {
        switch reference {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard reference.hasPrefix("#") else { return nil }
        let isHexadecimal = reference.hasPrefix("#x")
        let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
        // `UInt32` would also accept a sign.
        guard digits.utf8.allSatisfy({ $0.hexDigit != nil }),
            let value = UInt32(digits, radix: isHexadecimal ? 16 : 10),
            value >= 0x20 || [0x9, 0xa, 0xd].contains(value), value & 0xfffe != 0xfffe
        else { return nil }
        return Unicode.Scalar(value)
    }

    private mutating func readStart() throws(Failure) -> Event {
        guard !open.isEmpty || !hasRoot else { throw failure("it has more than one root element") }
        guard open.count < Self.maxDepth else { throw failure("its elements are nested too deeply") }
        let start = offset
        offset += 1
        let rawName = try readName()
        let outerBindings = bindings.count
        var raw: [(name: ArraySlice<UInt8>, value: String)] = []
        while true {
            let hadSpace = skipSpace()
            if startsWith(">") || startsWith("/>") { break }
            guard hadSpace, raw.count < Self.maxAttributes else {
                throw failure(hadSpace ? "an element has too many attributes" : "an element is malformed")
            }
            let name = try readName()
            guard !raw.contains(where: { $0.name == name }) else { throw failure("an attribute occurs twice") }
            raw.append((name, try readValue()))
        }
        pendingEnd = startsWith("/>")
        offset += pendingEnd ? 2 : 1
        hasRoot = true
        for (name, value) in raw { try bind(name, value) }
        let name = try resolve(rawName, isElement: true, at: start)
        open.append(Open(rawName: rawName, name: name, bindings: outerBindings))
        var attributes: [Name: String] = [:]
        for (name, value) in raw where !Self.isBinding(name) {
            guard attributes.updateValue(value, forKey: try resolve(name, isElement: false, at: start)) == nil else {
                throw Failure(reason: "an attribute occurs twice", offset: start)
            }
        }
        return .start(name, attributes: attributes)
    }

    private mutating func readEnd() throws(Failure) -> Event {
        offset += 2
        let name = try readName()
        _ = skipSpace()
        guard startsWith(">"), open.last?.rawName == name else {
            throw failure("an end tag does not match the open element")
        }
        offset += 1
        return endElement()
    }

    private mutating func endElement() -> Event {
        pendingEnd = false
        let element = open.removeLast()
        bindings.removeSubrange(element.bindings...)
        return .end(element.name)
    }

    private mutating func readName() throws(Failure) -> ArraySlice<UInt8> {
        let name = bytes[offset...].prefix { $0.isXMLName }
        guard let first = name.first, first.isXMLNameStart else { throw failure("a name is malformed") }
        offset = name.endIndex
        return name
    }

    private mutating func readValue() throws(Failure) -> String {
        _ = skipSpace()
        guard startsWith("=") else { throw failure("an attribute has no value") }
        offset += 1
        _ = skipSpace()
        guard offset < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[offset]) else {
            throw failure("an attribute's value has no quotes")
        }
        let quote = bytes[offset]
        offset += 1
        var value: [UInt8] = []
        while true {
            guard offset < bytes.count, bytes[offset] != UInt8(ascii: "<") else {
                throw failure("an attribute's value is not terminated")
            }
            if bytes[offset] == quote { break }
            try readCharacter(into: &value)
        }
        offset += 1
        return String(decoding: value.map { $0.isXMLSpace ? 0x20 : $0 }, as: UTF8.self)
    }

    // MARK: Namespaces

    private static func isBinding(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8)
    }

    private mutating func bind(_ name: ArraySlice<UInt8>, _ value: String) throws(Failure) {
        guard Self.isBinding(name) else { return }
        guard bindings.count < Self.maxBindings else { throw failure("it declares too many namespaces") }
        bindings.append((String(decoding: name.dropFirst("xmlns:".utf8.count), as: UTF8.self), value))
    }

    private func resolve(_ name: ArraySlice<UInt8>, isElement: Bool, at offset: Int) throws(Failure) -> Name {
        let colon = name.firstIndex(of: UInt8(ascii: ":"))
        let prefix = colon.map { String(decoding: name[..<$0], as: UTF8.self) } ?? ""
        let local = String(decoding: colon.map { name[name.index(after: $0)...] } ?? name, as: UTF8.self)
        // An attribute without a prefix is in no namespace.
        if prefix.isEmpty, !isElement { return Name(namespace: "", local: local) }
        guard let binding = bindings.last(where: { $0.prefix == prefix }) else {
            guard prefix.isEmpty else { throw Failure(reason: "a namespace prefix is not declared", offset: offset) }
            return Name(namespace: "", local: local)
        }
        return Name(namespace: binding.namespace, local: local)
    }

    // MARK: Bytes

    private func startsWith(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    }

    private mutating func skip(past end: StaticString, from start: Int, _ what: String) throws(Failure) {
        let text = end.withUTF8Buffer { Array($0) }
        var position = offset + start
        while position + text.count <= bytes.count {
            guard let first = bytes[position...].firstIndex(of: text[0]) else { break }
            if bytes[first...].starts(with: text) {
                offset = first + text.count
                return
            }
            position = first + 1
        }
        throw failure("\(what) is not terminated")
    }

    private mutating func skipSpace() -> Bool {
        let start = offset
        while offset < bytes.count, bytes[offset].isXMLSpace { offset += 1 }
        return offset > start
    }

    private func failure(_ reason: String) -> Failure {
        Failure(reason: reason, offset: offset)
    }
}

extension UInt8 {
    fileprivate var isXMLSpace: Bool { self == 0x20 || self == 0x9 || self == 0xa || self == 0xd }

    fileprivate var isXMLNameStart: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
        case 0x80...0xff: true
        default: false
        }
    }

    fileprivate var isXMLName: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"): true
        default: isXMLNameStart
        }
    }
}
