/// One step of the script that a server runs for a request.
package enum HTTP2Step: Sendable {
    /// A field of a header block; names of pseudo-header fields start with a colon.
    package typealias Field = (name: String, value: String)

    /// Error codes (RFC 9113, section 7).
    package enum Code: UInt32, Sendable, CaseIterable {
        case noError
        case protocolError
        case internalError
        case flowControlError
        case settingsTimeout
        case streamClosed
        case frameSizeError
        case refusedStream
        case cancel
        case compressionError
        case connectError
        case enhanceYourCalm
        case inadequateSecurity
        case http11Required
    }

    /// A HEADERS frame: a response head, an interim response or trailers.
    case headers([Field], endsStream: Bool = false)
    /// DATA frames, within the client's flow-control windows.
    case data(Response.Body, endsStream: Bool = false)
    /// RST_STREAM with an error code.
    case reset(Code)
    /// GOAWAY with the stream of this request, or stream 0, as the last one processed.
    case goAway(Code, isProcessed: Bool = true)
    /// SETTINGS of these identifiers and values.
    case settings([(identifier: UInt16, value: UInt32)])
    /// Any frame, with any payload; on the connection if `isOfConnection`, or else on the stream of the request.
    case frame(type: UInt8, flags: UInt8 = 0, payload: [UInt8] = [], isOfConnection: Bool = false)
    /// Sends and reads nothing more until the client hangs up.
    case stall
    /// Waits for the gate, or for the client to hang up.
    case wait(Gate)
    /// Closes the connection, with or without a TLS close_notify.
    case close(saysGoodbye: Bool = true)

    /// The head of a response.
    package static func head(_ status: Int, _ fields: [Field] = [], endsStream: Bool = false) -> HTTP2Step {
        .headers([(":status", "\(status)")] + fields, endsStream: endsStream)
    }
}

extension HTTP2Step {
    /// Serves a resource as in RFC 9110, without the length of a 200 if `omitsLength` is set.
    package static func file(
        _ resource: Resource,
        for request: RecordedRequest,
        omitsLength: Bool = false
    ) -> [HTTP2Step] {
        let message = Response.file(resource).message(request)
        guard let head = message.head else { return [.reset(.internalError)] }
        let fields = head.fields.map { (name: $0.name.lowercased(), value: $0.value) }
            .filter { !(omitsLength && head.status == 200 && $0.name == "content-length") }
        guard message.body.count > 0 else { return [.head(head.status, fields, endsStream: true)] }
        return [.head(head.status, fields), .data(message.body, endsStream: true)]
    }
}
