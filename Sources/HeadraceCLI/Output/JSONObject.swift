import Headrace

/// A JSON object on one line that keeps the order of its members (RFC 8259).
struct JSONObject: Sendable, ExpressibleByDictionaryLiteral {
    enum Value: Sendable {
        case string(String)
        case integer(Int64)
        case number(Double)
        case bool(Bool)
        case null
    }

    private var members = ""

    init(dictionaryLiteral members: (String, Value)...) {
        for (name, value) in members { append(name, value) }
    }

    var text: String { "{\(members)}" }

    mutating func append(_ name: String, _ value: Value) {
        if !members.isEmpty { members += "," }
        members += Self.quoted(name)
        members += ":"
        members += Self.text(of: value)
    }

    static func + (left: JSONObject, right: JSONObject) -> JSONObject {
        var both = left
        if !left.members.isEmpty, !right.members.isEmpty { both.members += "," }
        both.members += right.members
        return both
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

    private static let escapes: [Unicode.Scalar: String] = [
        "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    ]

    /// Quotes a string; escapes all control characters, including DEL and C1, because a terminal may show the line.
    private static func quoted(_ string: String) -> String {
        // A fast path for plain text: there may be thousands of lines per second.
        guard !string.utf8.allSatisfy(isPlain) else { return "\"\(string)\"" }
        var quoted = "\""
        for scalar in string.unicodeScalars {
            if let escape = escapes[scalar] {
                quoted += escape
            } else if scalar.properties.generalCategory == .control {
                quoted += "\\u" + UInt16(scalar.value).hexadecimal
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

extension JSONObject {
    /// The members that describe a failure: the code, the message, the given details and the exit status.
    static func failure(_ code: DownloadError.Code?, _ message: String, _ details: JSONObject = [:]) -> JSONObject {
        let reason: JSONObject = ["code": .optional(code?.description), "message": .string(message)]
        return reason + details + ["exitStatus": .integer(Int64(ExitCode(code).code))]
    }
}

extension JSONObject.Value {
    static func optional(_ integer: (some BinaryInteger)?) -> JSONObject.Value {
        integer.map { .integer(Int64($0)) } ?? .null
    }

    static func optional(_ string: String?) -> JSONObject.Value { string.map { .string($0) } ?? .null }
}
