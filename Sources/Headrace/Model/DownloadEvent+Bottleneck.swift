extension DownloadEvent {
    /// The bottleneck of a download; see ``DownloadEvent/limited(by:)``.
    ///
    ///     for await event in download.events {
    ///         if case .limited(by: .disk) = event { print("The disk is slower than the network.") }
    ///     }
    public enum Bottleneck: String, Sendable, Hashable, CaseIterable {
        /// The line to the internet, or the server as a whole, limits the speed: more connections do not increase it.
        case line
        /// The server limits the rate of each connection: the speed grew with the number of connections, up to the
        /// maximum that the library chooses on its own.
        case connectionRate
        /// The congestion window limits the rate of each connection: packets are lost, and the round trip is long (RFC
        /// 5681).
        case congestionWindow
        /// The disk limits the speed: bytes arrive faster than they can be written, so that the server is slowed down.
        case disk
        /// A rate limit of the manager, the group or the request limits the speed.
        case rateLimit
        /// The setting ``DownloadConfiguration/maxConnectionsPerHost`` limits the speed, which grew with the number of
        /// connections up to this limit.
        case connectionLimit
        /// The server allows too few connections: the speed grew with their number, but the server refuses more.
        case refusedConnections
    }
}
