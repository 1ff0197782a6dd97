/// A request as the server received it, with the number of body bytes sent in response.
package struct RecordedRequest: Sendable, Hashable {
    /// A header field as it was sent.
    package struct Field: Sendable, Hashable {
        /// The name in its original case.
        package let name: String
        /// The value without surrounding whitespace.
        package let value: String
    }

    /// The position in the server's log, from zero.
    package internal(set) var index = 0
    /// The number of earlier requests for the same path.
    package internal(set) var attempt = 0
    /// The number of requests in progress when this one arrived, including itself; never too high.
    package internal(set) var concurrentRequests = 1
    /// The number of the connection in order of arrival, from zero; equal numbers mean that it was reused.
    package let connection: Int
    /// The method, such as `GET`.
    package let method: String
    /// The request target as sent, including its query.
    package let target: String
    /// The protocol version, such as `HTTP/1.1`.
    package let version: String
    /// The header fields in order.
    package let fields: [Field]
    /// The request's body.
    package let body: [UInt8]
    /// The number of bytes of the response body written to the socket so far, without head and chunk framing.
    package internal(set) var bodyBytesSent: Int64 = 0

    /// The target without its query.
    package var path: String {
        String(target.prefix { $0 != "?" })
    }

    /// The value of the first field of that name, ignoring case.
    package subscript(name: String) -> String? {
        values(of: name).first
    }

    /// Returns the values of all fields of that name, ignoring case.
    package func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The first byte position of a `Range: bytes=N-` or `bytes=N-M`.
    package var rangeStart: Int64? {
        switch self["Range"].flatMap(RequestedRange.init) {
        case .from(let first): first
        case .between(let first, _): first
        case .last, nil: nil
        }
    }

    /// Whether the client may send another request on the connection.
    var keepsAlive: Bool {
        let connection = self["Connection"]?.lowercased()
        return version == "HTTP/1.1" ? connection != "close" : connection == "keep-alive"
    }
}
