extension DownloadEvent {
    /// The bottleneck of a download; see ``DownloadEvent/limited(by:)``.
    ///
    ///     for await event in download.events {
    ///         if case .limited(by: .disk) = event { print("The disk is slower than the network.") }
    ///     }
    public enum Bottleneck: String, Sendable, Hashable, CaseIterable {
        /// The line, or the server as a whole: more connections do not increase the speed.
        case line
        /// The server's rate for each connection: the speed grew with the number of connections, up to the maximum that
        /// the library chooses on its own.
        case connectionRate
        /// The congestion window of each connection: packets are lost, and the round trip is long (RFC 5681).
        case congestionWindow
        /// The disk: bytes arrive faster than they can be written, so that the server is slowed down.
        case disk
        /// A rate limit of the manager, the group or the request.
        case rateLimit
        /// The setting ``DownloadConfiguration/maxConnectionsPerHost``: the speed grew with the number of connections,
        /// up to this limit.
        case connectionLimit
        /// The server's limit on connections: the speed grew with their number, but the server refuses further ones.
        case refusedConnections
    }
}
