/// A snapshot of everything a server has seen.
package struct Traffic: Sendable {
    /// All requests in order of arrival.
    package internal(set) var requests: [RecordedRequest] = []
    /// The total number of accepted connections.
    package internal(set) var connectionCount = 0
    /// The number of connections that are open on the server's side.
    package internal(set) var openConnections = 0
    /// The number of requests in progress.
    package internal(set) var activeRequests = 0
    /// The most connections that were open at the same time.
    package internal(set) var maxOpenConnections = 0
    /// The most requests that were in progress at the same time.
    ///
    /// The count is never too high: a request ends just before its last byte is written to the socket, and requests of
    /// clients that have hung up do not count, even if the server has not noticed yet. A response sent in one piece is
    /// therefore hardly counted: delay it, limit its pace or hold it at a gate to observe overlapping requests.
    package internal(set) var maxActiveRequests = 0

    /// The number of body bytes written to sockets, over all requests.
    package var bodyBytesSent: Int64 {
        requests.reduce(0) { $0 + $1.bodyBytesSent }
    }

    /// Returns the requests for a path without a query, in order.
    package func requests(for path: String) -> [RecordedRequest] {
        requests.filter { $0.path == path }
    }
}
