public import HeadracePlatform

extension DownloadConfiguration {
    /// The way to the servers.
    public enum Proxy: Sendable, Hashable {
        /// What the environment says when the manager is made.
        ///
        /// `http_proxy` is for http, `https_proxy` or `HTTPS_PROXY` for https, `all_proxy` or `ALL_PROXY` for what has none,
        /// and `no_proxy` or `NO_PROXY` names hosts without one: `example.org` for it and all below, `.example.org` the
        /// same, `*` for all, `192.0.2.1`, `192.0.2.0/24`, each also with a port, as in `example.org:8080`.
        case environment
        /// Straight to the servers, whatever the environment says.
        case none
        /// Through this proxy, but for the hosts that are excepted, which are named as in `no_proxy`.
        ///
        /// Its scheme is `http`, `https`, `socks5` or, for a proxy that looks up the names itself, `socks5h`. User and
        /// password in it are for the proxy, and are shown nowhere.
        case url(URL, except: [String] = [])
    }

    /// Throws unless there is a way.
    func validateProxy() throws(DownloadError) {
        guard case .url(let url, _) = proxy else { return }
        _ = try ProxyServer(parsing: url.absoluteString)
        guard allowsAddress == nil else {
            throw DownloadError(
                .invalidRequest,
                "A proxy connects to addresses that allowsAddress is not asked about; leave out one of the two."
            )
        }
    }
}

extension DownloadConfiguration.Proxy: CustomStringConvertible, CustomReflectable {
    /// The way, without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let url, let except): "\(url.withoutCredentials.absoluteString) except \(except)"
        }
    }

    /// What `dump` and debuggers show: the same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["way": description]) }
}
