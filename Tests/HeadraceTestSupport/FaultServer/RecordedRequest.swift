/// A request as the server received it, and how much of a body it got in answer.
package struct RecordedRequest: Sendable, Hashable {
    /// A header field as it was sent.
    package struct Field: Sendable, Hashable {
        /// The name in the sender's own case.
        package let name: String
        /// The value without the blanks around it.
        package let value: String
    }

    /// The place in the server's log, from zero.
    package internal(set) var index = 0
    /// How many requests for the same path the server had received before this one.
    package internal(set) var attempt = 0
    /// How many requests were being answered when this one arrived, itself included; never too high.
    package internal(set) var concurrentRequests = 1
    /// The number of the connection, from zero in the order of arrival; equal numbers tell of reuse.
    package let connection: Int
    /// The method, as in `GET`.
    package let method: String
    /// The target as it was sent, with its query.
    package let target: String
    /// The protocol version, as in `HTTP/1.1`.
    package let version: String
    /// The header fields in their order.
    package let fields: [Field]
    /// The request's own body.
    package let body: [UInt8]
    /// The bytes of the answer's body that were handed to the socket so far, without head and chunk framing.
    package internal(set) var bodyBytesSent: Int64 = 0

    /// The target without its query.
    package var path: String {
        String(target.prefix { $0 != "?" })
    }

    /// The value of the first field of that name, whatever its case.
    package subscript(name: String) -> String? {
        values(of: name).first
    }

    /// Returns the values of all fields of that name, whatever its case.
    package func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The first byte that a `Range: bytes=N-` or `bytes=N-M` asks for.
    package var rangeStart: Int64? {
        switch self["Range"].flatMap(RequestedRange.init) {
        case .from(let first): first
        case .between(let first, _): first
        case .last, nil: nil
        }
    }

    /// Whether the client is willing to send another request on the connection.
    var keepsAlive: Bool {
        let connection = self["Connection"]?.lowercased()
        return version == "HTTP/1.1" ? connection != "close" : connection == "keep-alive"
    }
}
