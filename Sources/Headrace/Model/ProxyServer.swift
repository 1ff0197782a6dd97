import HeadracePlatform

/// A proxy server and the login for it.
package struct ProxyServer: Sendable, Hashable {
    private static let ports = ["http": 80, "https": 443, "socks5": 1080, "socks5h": 1080]

    /// The URL, such as `socks5h://proxy.example:1080`, without user and password, so that it can be shown.
    package let address: String
    /// The host name or address, without the brackets of IPv6.
    let host: String
    /// The TCP port in the URL or, if there is none, the default port of the scheme.
    let port: UInt16
    /// The user name; `nil` if the URL has no login.
    let user: String?
    let password: String?

    /// Parses the URL of a proxy; `host:port` alone is an HTTP proxy.
    /// - Parameter text: The URL, optionally with user and password.
    /// - Throws: `invalidRequest` if the URL is invalid or its scheme is not `http`, `https`, `socks5` or `socks5h`.
    package init(parsing text: String) throws(DownloadError) {
        let text = text.contains("://") ? text : "http://\(text)"
        let url = URL(string: text)
        guard let url, let scheme = url.scheme?.lowercased(), let usualPort = Self.ports[scheme],
            let host = url.host(percentEncoded: false), !host.isEmpty,
            !host.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }), url.path() == "" || url.path() == "/",
            url.query() == nil, url.fragment() == nil, let port = UInt16(exactly: url.port ?? usualPort), port > 0
        else {
            throw DownloadError(
                .invalidRequest,
                "\"\(text.withoutCredentials.printable)\" is not a valid proxy URL. Use a URL such as "
                    + "http://proxy.example:3128, with http, https, socks5 or socks5h."
            )
        }
        let isBare = host.contains(":") && !host.hasPrefix("[")
        address = "\(scheme)://\(isBare ? "[\(host)]" : host):\(port)"
        self.host = String(host.drop { $0 == "[" }.prefix { $0 != "]" })
        self.port = port
        (user, password) = url.login.map { ($0.user, $0.password) } ?? (nil, nil)
        guard user?.utf8.contains(0) != true, password?.utf8.contains(0) != true else {
            throw DownloadError(.invalidRequest, "The user or password of the proxy \(address) contains a NUL.")
        }
    }

    /// Whether the connection to the proxy uses TLS.
    var speaksTLS: Bool { address.hasPrefix("https:") }
    /// Whether the proxy uses SOCKS, which forwards any TCP connection.
    var isSOCKS: Bool { address.hasPrefix("socks") }
}

extension ProxyServer: CustomStringConvertible, CustomReflectable {
    /// The address, without the login.
    package var description: String { address }

    /// The properties for `dump` and debuggers, without the login.
    package var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}
