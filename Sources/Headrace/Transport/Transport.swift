package import HeadracePlatform

/// Sends requests and streams their answers; the seam between the downloads and the network.
package protocol Transport: Sendable {
    /// Sends one GET request and hands its answer to `receive`.
    ///
    /// Redirects are not followed and nothing is decoded. The transfer ends with `receive`: what is not read by then is
    /// dropped. When the task is cancelled, whatever awaits the transfer throws within 100 ms.
    /// - Parameters:
    ///   - request: What to ask.
    ///   - receive: Judges the head and reads the body.
    /// - Returns: What `receive` returns.
    /// - Throws: What `receive` throws, `CancellationError`, or else a ``DownloadError`` without a URL.
    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result

    /// Has requests from now on make connections of their own, instead of taking one that an earlier request left.
    func dropIdleConnections()

    /// Ends all transfers, closes all connections and returns when nothing is left of them.
    func shutdown() async
}

/// One GET request.
package struct TransportRequest: Sendable, Hashable {
    /// An http or https URL.
    package var url: URL
    /// The header fields, in order.
    package var fields: [HeaderField]
    /// How long a connection may take to be made.
    package var connectTimeout: Duration
    /// How long no byte may come while somebody is ready to take it.
    package var stallTimeout: Duration
    /// The proxy to go through; nil for none.
    package var proxy: ProxyServer?
    /// The bytes of the answer that may wait in memory at first; nil for as many as there is room for.
    package var bufferBytes: Int?
    /// Whether HTTP/2 is not offered to the server; `URLSession` ignores it.
    package var avoidsHTTP2 = false

    /// Creates a request.
    /// - Parameters:
    ///   - url: An http or https URL.
    ///   - fields: The header fields.
    ///   - connectTimeout: How long a connection may take to be made.
    ///   - stallTimeout: How long no byte may come.
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

/// The body of an answer, read by one consumer piece by piece.
package struct ResponseBody: Sendable {
    private let stream: ResponseStream
    /// The body's way through the limits on bytes per second, from when there was one.
    var lane: ThrottleHandle?
    /// Whether fewer bytes may wait in memory than there is room for.
    private(set) var isHeldBack: Bool

    /// Reads a body.
    /// - Parameter stream: The stream behind it, past its head.
    package init(_ stream: ResponseStream) {
        self.stream = stream
        isHeldBack = stream.startsHeldBack
    }

    /// Waits for bytes and returns them, or nil after the last; throws when the transfer failed or was cancelled.
    package mutating func next() async throws -> Chunk? {
        try await stream.nextChunk()
    }

    /// Ends the transfer, from any thread; whoever waits for bytes finds it cancelled.
    package func cancel() {
        stream.close()
    }

    /// Waits for bytes and returns how many have come, or 0 after the last; throws as ``next()`` does.
    ///
    /// From now on no more than `maximum` bytes wait in memory, or where it is nil, as many as there is room for.
    mutating func arrived(buffering maximum: Int?) async throws -> Int {
        isHeldBack = maximum != nil
        return try await stream.bufferedBytes(buffering: maximum)
    }

    /// Returns bytes that have arrived, at most so many and at least one.
    mutating func next(atMost maximum: Int) async throws -> Chunk? {
        try await stream.nextChunk(atMost: maximum)
    }

    /// Gives a chunk's memory back for the bytes to come.
    package func recycle(_ chunk: consuming Chunk) {
        stream.pool.give(chunk)
    }
}

extension RedirectChain {
    /// The request for the present URL of the chain, with the given fields added.
    func request(with rangeFields: [HeaderField], _ configuration: DownloadConfiguration) -> TransportRequest {
        TransportRequest(
            url: url,
            fields: fields + rangeFields,
            connectTimeout: configuration.connectTimeout,
            stallTimeout: configuration.stallTimeout
        )
    }
}
