import HeadracePlatform

/// The proxy setting of a `URLSession`; performs no I/O.
///
/// A session uses the same proxy for all its requests, so each route needs its own session.
enum URLSessionRoute: Sendable, Hashable {
    /// The proxies of the system's settings, if any.
    case system
    /// No proxy.
    case direct
    case proxy(ProxyServer)

    /// Returns the route of a request without a proxy: the system's settings apply only if neither the configuration
    /// nor the environment specifies proxies.
    static func withoutProxy(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) -> URLSessionRoute {
        guard configuration.proxy == .environment else { return .direct }
        return try ProxySettings(environment: environment).hasProxy ? .direct : .system
    }
}
