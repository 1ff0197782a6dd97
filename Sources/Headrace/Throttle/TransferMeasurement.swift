/// The measurements of one run of a download, from which ``DownloadConcurrency`` decides how many may run.
struct TransferMeasurement: Sendable, Hashable {
    /// The time at which the request for the first response was sent; without a response, the start of the run.
    var start: Duration
    /// The number of body bytes received.
    var bytes: Int64 = 0
    /// The time from the request at ``start`` to its response head; `nil` if there was no response.
    var latency: Duration?
    /// Whether the server uses HTTP/2 or later; `nil` before its first response.
    var isMultiplexed: Bool?
    /// Whether an attempt failed in a way that suggests that the server has too many requests; see ``failed(_:)``.
    var isRefused = false

    /// Records the error of an attempt: a 429, a 503, or a connection refused or lost before any response is a refusal.
    mutating func failed(_ error: DownloadError) {
        let isLostEarly = error.code == .connectionLost && latency == nil
        if [429, 503].contains(error.statusCode) || error.isConnectionRefused || isLostEarly { isRefused = true }
    }

    /// Returns the time from the response head to `end`; zero if there was no response.
    func bodyTime(until end: Duration) -> Duration { latency.map { end - start - $0 } ?? .zero }
}
