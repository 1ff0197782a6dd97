import Headrace
import HeadracePlatform

extension FakeTransport {
    /// Creates a transport that responds like a server with this response, in status, fields and body.
    ///
    /// Delays and paces are ignored, and raw responses are not supported because there is no parser.
    package convenience init(playing response: Response) {
        self.init { request in
            let message = response.message(
                RecordedRequest(
                    connection: 0,
                    method: "GET",
                    target: request.url.path(),
                    version: "HTTP/1.1",
                    fields: request.fields.map { RecordedRequest.Field(name: $0.name, value: $0.value) },
                    body: []
                )
            )
            let lost = DownloadError(.connectionLost, "The fake connection ended.")
            guard let head = message.head, message.headCut == nil else {
                precondition(message.head != nil || message.body.count == 0, "A fake has no parser for literal bytes")
                throw lost
            }
            let body = message.body.slice(0..<(message.cut?.offset ?? .max))
            return Reply(
                head.status,
                fields: head.fields.map { ($0.name, $0.value) },
                body: body.bytes,
                end: message.cut?.ending == .stall
                    ? .silence
                    : message.cut != nil || message.chunking?.hasLastChunk == false ? .failed(lost) : .finished
            )
        }
    }
}

extension Response.Body {
    /// All bytes, in memory.
    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += run(at: Int64(bytes.count), upTo: count) }
        return bytes
    }
}
