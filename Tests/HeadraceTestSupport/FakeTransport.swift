package import Headrace

/// A transport without a network: a closure produces the response to each request.
package final class FakeTransport: Transport {
    /// A response, delivered all at once.
    package struct Reply: Sendable {
        /// How the response ends.
        package enum End: Sendable {
            /// With the complete body.
            case finished
            /// With an error after the body's bytes.
            case failed(DownloadError)
            /// Never: the reader waits until it is cancelled.
            case silence
        }

        var status: Int
        var fields: [HeaderField]
        var body: [UInt8]
        var end: End

        /// Creates a response.
        /// - Parameters:
        ///   - status: The status code.
        ///   - fields: The header fields.
        ///   - body: The body.
        ///   - end: How it ends.
        package init(
            _ status: Int = 200,
            fields: [(String, String)] = [],
            body: [UInt8] = [],
            end: End = .finished
        ) {
            self.status = status
            self.fields = fields.map { HeaderField(name: $0.0, value: $0.1) }
            self.body = body
            self.end = end
        }

        /// Creates a copy of a response that ends differently.
        /// - Parameters:
        ///   - response: The response.
        ///   - end: How it ends.
        package init(_ response: Reply, end: End) {
            self = response
            self.end = end
        }
    }

    private let chunkBytes: Int
    private let response: @Sendable (Int, TransportRequest) throws -> Reply
    private let log = Locked<[TransportRequest]>([])
    private let drops = Locked(0)

    /// The requests received so far.
    package var requests: [TransportRequest] { log.withLock { $0 } }

    /// The number of `dropIdleConnections()` calls.
    package var dropCount: Int { drops.withLock { $0 } }

    /// Creates a transport.
    /// - Parameters:
    ///   - chunkBytes: The size of the chunks in which a body is read.
    ///   - response: Returns the response to a request, or throws the transport's error instead of a head.
    package convenience init(
        chunkBytes: Int = 1 << 18,
        _ response: @escaping @Sendable (TransportRequest) throws -> Reply
    ) {
        self.init(chunkBytes: chunkBytes, numbered: { _, request in try response(request) })
    }

    /// Creates a transport whose closure also receives the number of the request, counted from 0.
    package init(
        chunkBytes: Int = 1 << 18,
        numbered response: @escaping @Sendable (Int, TransportRequest) throws -> Reply
    ) {
        self.chunkBytes = chunkBytes
        self.response = response
    }

    package func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        let number = log.withLock { log in
            log.append(request)
            return log.count - 1
        }
        let response = try response(number, request)
        let stream = ResponseStream(highWatermark: 4 * chunkBytes, pool: ChunkPool())
        defer { stream.close() }
        return try await withTaskCancellationHandler {
            stream.deliver(ResponseHead(url: request.url, status: response.status, fields: response.fields))
            _ = response.body.withUnsafeBytes { stream.deliver($0) }
            switch response.end {
            case .finished: stream.finish()
            case .failed(let error): stream.fail(error)
            case .silence: stream.flush()
            }
            let head = try await stream.nextHead()
            var body = ResponseBody(stream)
            return try await receive(head, &body)
        } onCancel: {
            stream.close()
        }
    }

    package func dropIdleConnections() {
        drops.withLock { $0 += 1 }
    }

    package func shutdown() async {}
}
