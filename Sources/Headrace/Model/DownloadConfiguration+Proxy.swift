public import HeadracePlatform

extension DownloadConfiguration {
    /// The proxy for all connections, or none.
    public enum Proxy: Sendable, Hashable {
        /// The proxies in the environment variables at the creation of the manager.
        ///
        /// `http_proxy` applies to http, `https_proxy` or `HTTPS_PROXY` to https, and `all_proxy` or `ALL_PROXY` to both if these
        /// are missing. `no_proxy` or `NO_PROXY` lists hosts without a proxy: `example.org` or `.example.org` for the domain and
        /// its subdomains, `192.0.2.1`, `192.0.2.0/24`, each optionally with a port, such as `example.org:8080`, or `*` for all
        /// hosts.
        case environment
        /// No proxy, regardless of the environment.
        case none
        /// This proxy, except for some hosts, in the format of `no_proxy`.
        ///
        /// The scheme is `http`, `https`, `socks5` or, for a proxy that resolves host names itself, `socks5h`. The user and
        /// password in the URL are sent to the proxy and never shown.
        case url(URL, except: [String] = [])
    }

    /// Throws `invalidRequest` if the proxy is invalid or cannot be combined with `allowsAddress`.
    func validateProxy() throws(DownloadError) {
        guard case .url(let url, _) = proxy else { return }
        _ = try ProxyServer(parsing: url.absoluteString)
        guard allowsAddress == nil else {
            throw DownloadError(
                .invalidRequest,
                "A proxy cannot be combined with allowsAddress, which cannot check the proxy's connections. Remove one of the two."
            )
        }
    }
}

extension DownloadConfiguration.Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy, without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let url, let except): "\(url.withoutCredentials.absoluteString) except \(except)"
        }
    }

    /// Shows in `dump` and debuggers what ``description`` shows.
    public var customMirror: Mirror { Mirror(self, children: ["way": description]) }
}
