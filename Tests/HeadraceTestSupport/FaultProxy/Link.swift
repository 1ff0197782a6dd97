/// How a proxy carries one connection; by default without delay, limit or fault.
package struct Link: Sendable {
    /// A point at which the proxy ends the connection.
    struct Cut: Sendable {
        var offset: Int64
        var ending: Ending
    }

    /// The delay of bytes in each direction.
    package var latency: Duration
    /// The rate towards the client; `nil` for no limit.
    package var bytesPerSecond: Int64?
    /// Whether TLS is closed with `close_notify`; without it the client sees a truncated connection.
    package var saysGoodbye: Bool
    var cut: Cut?

    /// Creates a link.
    /// - Parameters:
    ///   - latency: The delay of bytes in each direction.
    ///   - bytesPerSecond: The rate towards the client; `nil` for no limit.
    ///   - saysGoodbye: Whether TLS is closed with `close_notify`.
    package init(latency: Duration = .zero, bytesPerSecond: Int64? = nil, saysGoodbye: Bool = true) {
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
        self.saysGoodbye = saysGoodbye
    }

    /// Returns the link, cut after `offset` bytes to the client; response heads count, TLS overhead does not.
    ///
    /// A `stall` keeps the connection open but carries nothing more in either direction.
    package func cut(after offset: Int64, by ending: Ending) -> Link {
        var link = self
        link.cut = Cut(offset: offset, ending: ending)
        return link
    }
}
