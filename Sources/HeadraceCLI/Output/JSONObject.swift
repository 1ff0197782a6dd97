import Headrace

/// A JSON object on one line that keeps the order of its members (RFC 8259).
struct JSONObject: Sendable {
    enum Value: Sendable {
        case string(String)
        case integer(Int64)
        case number(Double)
        case bool(Bool)
        case null
    }

    private var members = ""

    init(_ members: KeyValuePairs<String, Value>) {
        for (name, value) in members { append(name, value) }
    }

    var text: String { "{\(members)}" }

    mutating func append(_ name: String, _ value: Value) {
        if !members.isEmpty { members += "," }
        members += Self.quoted(name)
        members += ":"
        members += Self.text(of: value)
    }

    private static func text(of value: Value) -> String {
        switch value {
        case .string(let string): quoted(string)
        case .integer(let integer): "\(integer)"
        // JSON has neither infinity nor NaN; milliseconds are precise enough.
        case .number(let number): number.isFinite ? "\((number * 1000).rounded() / 1000)" : "null"
        case .bool(let bool): "\(bool)"
        case .null: "null"
        }
    }

    /// Quotes a string; escapes all control characters, including DEL and C1, because a terminal may show the line.
    private static func quoted(_ string: String) -> String {
        // A fast path for plain text: there may be thousands of lines per second.
        guard !string.utf8.allSatisfy(isPlain) else { return "\"\(string)\"" }
        var quoted = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                quoted += "\\u" + UInt16(scalar.value).hexadecimal
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

extension JSONObject.Value {
    static func optional(_ integer: Int64?) -> JSONObject.Value { integer.map { .integer($0) } ?? .null }
    static func optional(_ string: String?) -> JSONObject.Value { string.map { .string($0) } ?? .null }
}
