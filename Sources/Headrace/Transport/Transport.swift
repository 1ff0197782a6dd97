package import HeadracePlatform

/// Sends requests and streams their responses; separates the download logic from the network.
package protocol Transport: Sendable {
    /// Sends a request and passes the response to `receive`.
    ///
    /// Redirects are not followed and nothing is decoded. The transfer ends when `receive` returns; unread bytes are
    /// discarded. If the task is cancelled, all calls that await the transfer throw within 100 ms.
    /// - Parameters:
    ///   - request: The request to send.
    ///   - receive: Evaluates the head and reads the body.
    /// - Returns: The result of `receive`.
    /// - Throws: The error of `receive`, `CancellationError`, or a ``DownloadError``, which need not have a URL.
    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result

    /// Makes later requests open new connections instead of reusing the connections that are open now.
    func dropIdleConnections()

    /// Fails all running and later requests with `shutDown`, and closes all connections; returns when that is done.
    func shutdown() async
}

/// An HTTP request, with the settings for its transfer.
package struct TransportRequest: Sendable {
    /// An http or https URL.
    package var url: URL
    /// The header fields, in order.
    package var fields: [HeaderField]
    /// The value of the field `Accept-Encoding`; `nil` for `identity`.
    package var acceptEncoding: String?
    /// The method, such as `GET`.
    package var method = "GET"
    /// The content; `nil` for none.
    package var body: [UInt8]?
    /// Whether the request may be sent again if its connection is lost.
    package var mayRepeat = true
    /// Whether another server has chosen the URL; see ``CredentialRequest/isRedirected``.
    package var isRedirected = false
    /// The maximum time for establishing a connection.
    package var connectTimeout: Duration
    /// The maximum time without received data while the reader is ready for it.
    package var stallTimeout: Duration
    /// The proxy; `nil` for a direct connection.
    package var proxy: ProxyServer?
    /// The initial limit for buffered bytes of the response; `nil` for the transport's own limit.
    package var bufferBytes: Int?
    /// Receives the measured times at the end, from any thread; `nil` to measure nothing.
    package var metrics: (@Sendable (RequestMetrics) -> Void)?
    /// Whether only HTTP/1.1 is offered to the server; `URLSession` ignores this.
    package var avoidsHTTP2 = false
    /// Whether the request may share an HTTP/2 connection with others, if its response is small; `URLSession` ignores
    /// this.
    package var mayShareConnection = false
    /// Whether the request must not share a connection, because its earlier attempt to share one failed; see
    /// ``ResponseHead/needsOwnConnection``.
    package var needsOwnConnection = false
    /// Whether to connect only to public addresses, and therefore on a new connection; see
    /// ``DownloadRequest/requiresPublicAddress``.
    package var requiresPublicAddress = false
    /// Whether HTTP/2 is offered only after the server has refused HTTP/1.1; `URLSession` ignores this.
    ///
    /// HTTP/1.1 transfers a large body with less work.
    package var prefersHTTP1 = false

    /// Creates a request.
    /// - Parameters:
    ///   - url: An http or https URL.
    ///   - fields: The header fields.
    ///   - connectTimeout: The maximum time for establishing a connection.
    ///   - stallTimeout: The maximum time without received data.
    package init(
        url: URL,
        fields: [HeaderField] = [],
        connectTimeout: Duration = .seconds(15),
        stallTimeout: Duration = .seconds(30)
    ) {
        self.url = url
        self.fields = fields
        self.connectTimeout = connectTimeout
        self.stallTimeout = stallTimeout
    }
}

/// The body of a response, read in pieces by a single consumer.
package struct ResponseBody: Sendable {
    private let stream: ResponseStream
    /// The handle that applies rate limits to this body; `nil` until a limit applies to the download.
    var lane: ThrottleHandle?
    /// Whether a separate limit for buffered bytes replaces the transport's own limit.
    ///
    /// The reader restores the transport's limit once no rate limit applies.
    private(set) var isHeldBack: Bool

    /// Creates the body of a response.
    /// - Parameter stream: The stream, whose head has been read.
    package init(_ stream: ResponseStream) {
        self.stream = stream
        isHeldBack = stream.startsHeldBack
    }

    /// Waits for bytes; returns `nil` at the end and throws if the transfer failed or was cancelled.
    package mutating func next() async throws -> Chunk? {
        try await stream.nextChunk()
    }

    /// Cancels the transfer, from any thread; a task that waits for bytes throws `CancellationError`.
    package func cancel() {
        stream.close()
    }

    /// Waits for bytes and returns the number of bytes in the next chunk, or 0 at the end; throws like ``next()``.
    ///
    /// Also sets the limit for buffered bytes to `maximum`; `nil` restores the transport's own limit.
    mutating func arrived(buffering maximum: Int?) async throws -> Int {
        isHeldBack = maximum != nil
        return try await stream.bufferedBytes(buffering: maximum)
    }

    /// Waits for bytes and returns up to `maximum` of them; returns `nil` at the end.
    mutating func next(atMost maximum: Int) async throws -> Chunk? {
        try await stream.nextChunk(atMost: maximum)
    }

    /// Releases the memory of a chunk to the pool of buffers.
    package func recycle(_ chunk: consuming Chunk) {
        stream.pool.give(chunk)
    }
}

extension RedirectChain {
    /// Returns the request for the current URL of the redirect chain, with `rangeFields` added, but without the body.
    func request(with rangeFields: [HeaderField]) -> TransportRequest {
        var request = TransportRequest(
            url: url,
            fields: fields + rangeFields,
            connectTimeout: connectTimeout,
            stallTimeout: stallTimeout
        )
        request.method = method
        request.mayRepeat = mayRepeat
        request.isRedirected = isChosenElsewhere
        return request
    }
}
