import HeadracePlatform

/// A proxy, and the login to it.
package struct ProxyServer: Sendable, Hashable {
    private static let ports = ["http": 80, "https": 443, "socks5": 1080, "socks5h": 1080]

    /// As in `socks5h://proxy.example:1080`: never with user and password, so that it can be shown.
    package let address: String
    /// The name or address, without the brackets of IPv6.
    let host: String
    /// The port.
    let port: UInt16
    /// Nil for a proxy that is used without a login.
    let user: String?
    let password: String?

    /// Reads the URL of a proxy; `host:port` alone is that of an HTTP proxy.
    /// - Parameter text: The URL, perhaps with user and password.
    /// - Throws: `invalidRequest` for another scheme, and for what is no URL.
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
                "\"\(text.withoutCredentials.printable)\" is no proxy; one is given as in http://proxy.example:3128, "
                    + "with http, https, socks5 or socks5h."
            )
        }
        let isBare = host.contains(":") && !host.hasPrefix("[")
        address = "\(scheme)://\(isBare ? "[\(host)]" : host):\(port)"
        self.host = String(host.drop { $0 == "[" }.prefix { $0 != "]" })
        self.port = port
        (user, password) = url.login.map { ($0.user, $0.password) } ?? (nil, nil)
        guard user?.utf8.contains(0) != true, password?.utf8.contains(0) != true else {
            throw DownloadError(.invalidRequest, "The user or password of the proxy \(address) has a NUL in it.")
        }
    }

    /// Whether the way to it is encrypted.
    var speaksTLS: Bool { address.hasPrefix("https:") }
    /// Whether it carries connections without a look at what they are for.
    var isSOCKS: Bool { address.hasPrefix("socks") }
}

extension ProxyServer: CustomStringConvertible, CustomReflectable {
    /// The address, without the login.
    package var description: String { address }

    /// What `dump` and debuggers show: the same as ``description``.
    package var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}
