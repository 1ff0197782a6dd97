/// How a proxy carries one connection: as well as it can, unless told otherwise.
package struct Link: Sendable {
    /// An end that the proxy makes.
    struct Cut: Sendable {
        var offset: Int64
        var ending: Ending
    }

    /// How long bytes take in each direction.
    package var latency: Duration
    /// The rate towards the client; nil for no limit.
    package var bytesPerSecond: Int64?
    /// False for an end of TLS that is not announced (no `close_notify`), as when a connection is cut.
    package var saysGoodbye: Bool
    var cut: Cut?

    /// Creates a link.
    /// - Parameters:
    ///   - latency: How long bytes take in each direction.
    ///   - bytesPerSecond: The rate towards the client; nil for no limit.
    ///   - saysGoodbye: False for an end of TLS without `close_notify`.
    package init(latency: Duration = .zero, bytesPerSecond: Int64? = nil, saysGoodbye: Bool = true) {
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
        self.saysGoodbye = saysGoodbye
    }

    /// Returns the link with an end after so many bytes towards the client, heads included and TLS not.
    ///
    /// A `stall` swallows everything from there on, in both directions, and keeps the connection.
    package func cut(after offset: Int64, by ending: Ending) -> Link {
        var link = self
        link.cut = Cut(offset: offset, ending: ending)
        return link
    }
}
