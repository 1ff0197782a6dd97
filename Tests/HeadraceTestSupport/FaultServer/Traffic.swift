/// What a server has seen up to one moment.
package struct Traffic: Sendable {
    /// All requests in the order of their arrival.
    package internal(set) var requests: [RecordedRequest] = []
    /// How many connections were accepted, ever.
    package internal(set) var connectionCount = 0
    /// How many connections have a descriptor on the server's side now.
    package internal(set) var openConnections = 0
    /// How many requests are being answered now.
    package internal(set) var activeRequests = 0
    /// The most connections that were open at one time.
    package internal(set) var maxOpenConnections = 0
    /// The most requests that were being answered at one time.
    ///
    /// The count is never too high: a request ends just before its last byte is handed to the socket, and one whose
    /// client has hung up does not count, even where the server has not noticed yet. So an answer that goes out in
    /// one piece hardly counts at all: let it be delayed, drip or wait for a gate to see that requests overlap.
    package internal(set) var maxActiveRequests = 0

    /// The bytes of bodies that were handed to sockets, over all requests.
    package var bodyBytesSent: Int64 {
        requests.reduce(0) { $0 + $1.bodyBytesSent }
    }

    /// Returns the requests for a path, which is given without a query, in order.
    package func requests(for path: String) -> [RecordedRequest] {
        requests.filter { $0.path == path }
    }
}
