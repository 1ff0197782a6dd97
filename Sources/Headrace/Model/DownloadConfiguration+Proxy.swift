public import HeadracePlatform

extension DownloadConfiguration {
    /// The proxy for all connections, or none.
    public enum Proxy: Sendable, Hashable {
        /// The proxies from the environment variables, which are read when the manager is created.
        ///
        /// `http_proxy` applies to http, and `https_proxy` or `HTTPS_PROXY` to https. `all_proxy` or `ALL_PROXY`
        /// applies to a scheme whose own variable is missing.
        ///
        /// `no_proxy` or `NO_PROXY` lists the hosts that are contacted without a proxy: `example.org` or `.example.org`
        /// for the domain and its subdomains, `192.0.2.1`, `192.0.2.0/24`, or `*` for all hosts. A name or an address
        /// may have a port, such as `example.org:8080`.
        case environment
        /// No proxy, regardless of the environment.
        case none
        /// The proxy with this URL, except for the listed hosts, which are written as in `no_proxy`.
        ///
        /// The scheme is `http`, `https`, `socks5` or, for a proxy that resolves host names itself, `socks5h`. The user
        /// and password in the URL are sent to the proxy and never shown.
        case url(URL, except: [String] = [])
    }

    /// Throws `invalidRequest` if the URL of the proxy is invalid, or if there is a UNIX socket or `allowsAddress` too.
    func validateProxy() throws(DownloadError) {
        guard case .url(let url, _) = proxy else { return }
        _ = try ProxyServer(parsing: url.absoluteString)
        guard connectionPolicy.unixSocket == nil else {
            throw DownloadError(
                .invalidRequest,
                "A proxy cannot be combined with a UNIX socket. Remove one of the two."
            )
        }
        guard allowsAddress == nil else {
            throw DownloadError(
                .invalidRequest,
                "A proxy cannot be combined with allowsAddress, which cannot check the proxy's connections. Remove one of the two."
            )
        }
    }

    /// The error for a request with ``DownloadRequest/requiresPublicAddress``; `nil` if addresses can be checked.
    ///
    /// They cannot be checked if the configuration has the URL of a proxy or a UNIX socket.
    var publicAddressConflict: DownloadError? {
        let setting: String
        switch proxy {
        case .url: setting = "a proxy"
        case .environment, .none:
            guard connectionPolicy.unixSocket != nil else { return nil }
            setting = "a UNIX socket"
        }
        return DownloadError(
            .invalidRequest,
            "requiresPublicAddress cannot be combined with \(setting), whose connections cannot be checked. Use a manager "
                + "without \(setting), or remove requiresPublicAddress."
        )
    }
}

extension DownloadConfiguration.Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy as text, without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let url, let except): "\(url.withoutCredentials.absoluteString) except \(except)"
        }
    }

    /// Shows only ``description`` in `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}
