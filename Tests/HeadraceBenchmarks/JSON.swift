/// A JSON value whose objects preserve the order of their members.
enum JSON: Sendable {
    case object([(String, JSON)])
    case array([JSON])
    case string(String)
    case number(Double)
    case integer(Int)
    case bool(Bool)
    case null

    /// Returns the JSON text, indented by two spaces per level.
    func text(indent: Int = 0) -> String {
        switch self {
        case .object(let members):
            Self.block("{", "}", members.map { "\(Self.quoted($0)): \($1.text(indent: indent + 1))" }, indent)
        case .array(let elements):
            Self.block("[", "]", elements.map { $0.text(indent: indent + 1) }, indent)
        case .string(let value): Self.quoted(value)
        // `description` would write small numbers in a form that some parsers round.
        case .number(let value): value.isFinite ? Format.decimal(value, places: 6) : "null"
        case .integer(let value): String(value)
        case .bool(let value): value ? "true" : "false"
        case .null: "null"
        }
    }

    private static func block(_ open: String, _ close: String, _ lines: [String], _ indent: Int) -> String {
        guard !lines.isEmpty else { return open + close }
        let margin = String(repeating: "  ", count: indent)
        return open + "\n" + lines.map { margin + "  " + $0 }.joined(separator: ",\n") + "\n" + margin + close
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension JSON: ExpressibleByStringLiteral {
    init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension JSON {
    /// Returns a string, or null for `nil`.
    static func optional(_ text: String?) -> JSON {
        text.map { .string($0) } ?? .null
    }
}
