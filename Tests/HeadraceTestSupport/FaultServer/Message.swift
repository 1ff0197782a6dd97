/// The bytes sent in response to one request, and their timing: a `Response` in the form that the writer needs.
struct Message: Sendable {
    /// The status line and the header fields.
    struct Head: Sendable {
        var version = "HTTP/1.1"
        var status: Int
        var fields: [(name: String, value: String)]
        /// Replaces the blank line.
        var endless: EndlessFields?

        var bytes: [UInt8] {
            var text = "\(version) \(status) \(Message.reason(of: status))\r\n"
            for field in fields { text += "\(field.name): \(field.value)\r\n" }
            return Array((text + (endless?.opening ?? "\r\n")).utf8)
        }

        mutating func remove(_ name: String) {
            fields.removeAll { $0.name.lowercased() == name.lowercased() }
        }

        mutating func set(_ name: String, _ value: String) {
            remove(name)
            fields.append((name, value))
        }
    }

    /// Endless header bytes after the last field.
    struct EndlessFields: Sendable {
        var opening: String
        var filler: String
    }

    /// Chunked coding, with possible errors.
    struct Chunking: Sendable {
        /// The sizes of the chunks, repeated until the body ends.
        var sizes: [Int64]
        /// Replaces every chunk's size line.
        var sizeLine: String?
        var hasLastChunk: Bool
        var trailers: [(name: String, value: String)]

        var end: [UInt8] {
            let trailers = trailers.map { "\($0.name): \($0.value)\r\n" }.joined()
            return Array((hasLastChunk ? "0\r\n\(trailers)\r\n" : "").utf8)
        }
    }

    /// A pace for the body: a number of bytes per interval.
    struct Pace: Sendable {
        var bytes: Int64
        var interval: Duration
    }

    /// An early end of the message.
    struct Cut: Sendable {
        var offset: Int64
        var ending: Ending
    }

    /// A gate before the byte at an offset of the body.
    struct Hold: Sendable {
        var offset: Int64
        var gate: Gate
    }

    var delay: Duration = .zero
    /// The gate that must open before the first byte of the message is sent.
    var gate: Gate?
    /// Complete interim responses.
    var interim: [UInt8] = []
    /// `nil` if the body is the whole message, byte for byte.
    var head: Head?
    var headCut: Cut?
    var body: Response.Body
    var chunking: Chunking?
    var pace: Pace?
    var hold: Hold?
    var cut: Cut?
    /// Bytes sent after the end of the message, which a correct server would not send.
    var surplus: [UInt8] = []
    /// How the connection ends after the message; `nil` if it stays open.
    var ending: Ending?

    static func reason(of status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 103: "Early Hints"
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 404: "Not Found"
        case 412: "Precondition Failed"
        case 416: "Range Not Satisfiable"
        case 503: "Service Unavailable"
        default: "Status \(status)"
        }
    }
}
