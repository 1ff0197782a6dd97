/// The measured times of one request of a download, and the connection that it was sent on.
///
/// All times count from the moment at which the request was handed to the network.
public struct RequestMetrics: Sendable, Hashable {
    /// The URL without user, password, query and fragment.
    public var url: String
    /// The status of the response; `nil` if there was none.
    public var status: Int?
    /// The time at which the host's address was known; `nil` on a reused connection, or if the lookup did not succeed.
    public var nameLookup: Duration?
    /// The time at which the connection was made; `nil` on a reused connection, or if no connection was made.
    public var connect: Duration?
    /// The time at which the TLS handshake was complete; `nil` on a reused connection, or if there was no such
    /// handshake.
    public var tls: Duration?
    /// The time of the first byte of the response; `nil` if there was none.
    public var firstByte: Duration?
    /// The time at which the request ended.
    public var total: Duration = .zero
    /// The number of received bytes of the body.
    public var bytesReceived: Int64 = 0
    /// The version of HTTP, such as `HTTP/2`; `nil` if unknown.
    public var httpVersion: String?
    /// The address of the server or the proxy; `nil` if unknown.
    public var address: String?
    /// Whether the connection had served an earlier request.
    public var isReused = false

    /// Creates metrics, for example to test a display of them.
    /// - Parameter url: The URL without user, password, query and fragment.
    public init(url: String) {
        self.url = url
    }
}

/// The requests that a download has sent; see ``DownloadConfiguration/collectsMetrics``.
public struct DownloadMetrics: Sendable, Hashable {
    /// The last 256 requests, in the order in which they ended, including redirects, further connections and retries.
    public internal(set) var requests: [RequestMetrics] = []
    /// The number of all requests, including those that ``requests`` no longer contains.
    public internal(set) var requestCount = 0
    /// The number of retries after failures.
    public internal(set) var retries = 0
    /// The number of received bytes of all bodies, including bytes that were downloaded again.
    public internal(set) var bytesReceived: Int64 = 0

    private static let capacity = 256

    /// Adds a request that has ended.
    mutating func add(_ request: RequestMetrics) {
        requestCount += 1
        bytesReceived += request.bytesReceived
        if requests.count == Self.capacity { requests.removeFirst() }
        requests.append(request)
    }
}
