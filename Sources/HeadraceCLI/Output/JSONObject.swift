import Headrace

/// A value that a member of a ``JSONObject`` may have.
protocol JSONValue {
    /// The value as JSON text.
    var json: String { get }
}

/// A JSON object on one line that keeps the order of its members (RFC 8259).
struct JSONObject: Sendable, ExpressibleByDictionaryLiteral {
    private var members = ""

    init(dictionaryLiteral members: (String, any JSONValue)...) {
        for (name, value) in members { append(name, value) }
    }

    var text: String { "{\(members)}" }

    mutating func append(_ name: String, _ value: some JSONValue) {
        if !members.isEmpty { members += "," }
        members += name.json
        members += ":"
        members += value.json
    }

    static func + (left: JSONObject, right: JSONObject) -> JSONObject {
        var both = left
        if !left.members.isEmpty, !right.members.isEmpty { both.members += "," }
        both.members += right.members
        return both
    }
}

extension JSONObject {
    /// The members that describe an error.
    static func reason(_ code: DownloadError.Code?, _ message: String) -> JSONObject {
        ["code": code?.description, "message": message]
    }

    /// The members that describe a failure: the error, the given details and the exit status.
    static func failure(_ code: DownloadError.Code?, _ message: String, _ details: JSONObject = [:]) -> JSONObject {
        reason(code, message) + details + ["exitStatus": ExitCode(code).code]
    }
}

extension JSONValue where Self: CustomStringConvertible {
    var json: String { description }
}

extension Bool: JSONValue {}
extension Int: JSONValue {}
extension Int32: JSONValue {}
extension Int64: JSONValue {}

extension Double: JSONValue {
    // JSON has neither infinity nor NaN; milliseconds are precise enough.
    var json: String { isFinite ? "\((self * 1000).rounded() / 1000)" : "null" }
}

extension Optional: JSONValue where Wrapped: JSONValue {
    var json: String { self?.json ?? "null" }
}

extension String: JSONValue {
    private static let escapes: [Unicode.Scalar: String] = [
        "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    ]

    /// The text in quotes; all control characters, including DEL and C1, are escaped, because a terminal may show the
    /// line.
    var json: String {
        // A fast path for plain text: there may be thousands of lines per second.
        guard !utf8.allSatisfy(Self.isPlain) else { return "\"\(self)\"" }
        var quoted = "\""
        for scalar in unicodeScalars {
            if let escape = Self.escapes[scalar] {
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
