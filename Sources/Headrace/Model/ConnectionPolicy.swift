public import HeadracePlatform

/// The way in which connections to servers are made: the addresses, the interface and the HTTP version.
///
///     configuration.connectionPolicy.addressFamily = .ipv4
///     configuration.connectionPolicy.addresses = ["files.example:443:192.0.2.7"]
///
/// Only libcurl supports these settings; with `URLSession`, any of them is an error.
public struct ConnectionPolicy: Sendable, Hashable {
    /// The kind of addresses to connect to.
    public enum AddressFamily: Sendable, Hashable {
        /// Connections use IPv4 or IPv6, whichever connects first (RFC 8305).
        case any
        /// Connections use IPv4 only.
        case ipv4
        /// Connections use IPv6 only.
        case ipv6
    }

    /// The version of HTTP.
    public enum HTTPVersion: Sendable, Hashable, CaseIterable {
        /// HTTP/2 or HTTP/1.1, whichever is likely to be faster.
        case automatic
        /// HTTP/1.1 only.
        case http1
        /// HTTP/2 with every https server that supports it, otherwise HTTP/1.1; requires a libcurl with HTTP/2.
        case http2
        /// HTTP/3 with every https server that supports it, otherwise an older version; requires a libcurl with HTTP/3.
        case http3
    }

    /// The kind of addresses to connect to.
    public var addressFamily = AddressFamily.any
    /// The network interface, such as `eth0`, or the local address from which connections are made; `nil` for any.
    public var interface: String?
    /// Fixed addresses of hosts, used instead of DNS: `HOST:PORT:ADDRESS`, with further addresses after commas; `*` is
    /// any host.
    public var addresses: [String] = []
    /// The https URL of a resolver that is used instead of the system's (DNS over HTTPS, RFC 8484); `nil` for the
    /// system's.
    ///
    /// The resolver's certificate is verified like a server's. ``DownloadConfiguration/allowsAddress`` checks the
    /// addresses that the resolver finds, but not its own. If the resolver fails, the system's is not used. The lookups
    /// use neither the proxy of the downloads nor ``interface``, but the proxy in the environment, if any.
    ///
    /// With libcurl 8.5 to 8.8, this setting is an error, because these may crash when such a lookup is cancelled.
    public var dnsOverHTTPS: URL?
    /// Servers to connect to instead of others, in the form `HOST:PORT:OTHER:PORT`.
    ///
    /// A connection to the first host and port is made to the second ones instead. An empty `HOST` or first `PORT`
    /// matches any; an empty `OTHER` or second `PORT` keeps that of the URL. The request and the server's certificate
    /// are still those of the first host.
    public var substitutes: [String] = []
    /// The path of a UNIX domain socket through which all connections are made; `nil` for none.
    ///
    /// With a socket, proxies from the environment are ignored, and a URL in ``DownloadConfiguration/proxy`` is an
    /// error.
    public var unixSocket: URL?
    /// The version of HTTP.
    public var httpVersion = HTTPVersion.automatic

    /// Creates the default policy.
    public init() {}

    private static let maxSocketPathBytes = 107

    /// Throws `invalidRequest` if a setting is invalid.
    func validate() throws(DownloadError) {
        if let interface {
            guard !interface.isEmpty, interface.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
                throw DownloadError(.invalidRequest, "\"\(interface.printable)\" is not a network interface.")
            }
        }
        for text in addresses {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            let list = parts.count == 3 ? parts[2].split(separator: ",", omittingEmptySubsequences: false) : []
            guard !list.isEmpty, parts[0] == "*" || Self.isHost(parts[0]), Self.isPort(parts[1]),
                list.allSatisfy({ IPAddress(host: String($0)) != nil })
            else {
                throw DownloadError(.invalidRequest, "\"\(text.printable)\" does not have the form HOST:PORT:ADDRESS.")
            }
        }
        if let resolver = dnsOverHTTPS {
            guard resolver.isHTTPS, resolver.host()?.isEmpty == false else {
                throw DownloadError(
                    .invalidRequest,
                    "The resolver \(resolver.withoutCredentials.absoluteString.printable) is not an https URL."
                )
            }
        }
        for text in substitutes {
            let parts = Self.partsOutsideBrackets(text)
            guard parts.count == 4, [parts[0], parts[2]].allSatisfy({ $0.isEmpty || Self.isHost($0) }),
                [parts[1], parts[3]].allSatisfy({ $0.isEmpty || Self.isPort($0) })
            else {
                throw DownloadError(
                    .invalidRequest,
                    "\"\(text.printable)\" does not have the form HOST:PORT:OTHER:PORT."
                )
            }
        }
        if let unixSocket {
            guard unixSocket.fileFault == nil, unixSocket.filePath.utf8.count <= Self.maxSocketPathBytes else {
                throw DownloadError(
                    .invalidRequest,
                    "unixSocket must be a file URL with a path of at most \(Self.maxSocketPathBytes) bytes."
                )
            }
        }
    }

    private static func isHost(_ text: Substring) -> Bool {
        let isName = text.utf8.allSatisfy { $0.isLetterOrDigit || "-._".utf8.contains($0) }
        return !text.isEmpty && (isName || IPAddress(host: String(text)) != nil)
    }

    private static func isPort(_ text: Substring) -> Bool {
        Int64(digits: text).map { (1...65_535).contains($0) } ?? false
    }

    /// Splits a text at its colons, except at those of an IPv6 address in brackets.
    private static func partsOutsideBrackets(_ text: String) -> [Substring] {
        var depth = 0
        return text.split(maxSplits: .max, omittingEmptySubsequences: false) { character in
            if character == "[" { depth += 1 } else if character == "]" { depth -= 1 }
            return character == ":" && depth == 0
        }
    }
}
