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

    /// Returns the route of a request without a proxy.
    ///
    /// Returns ``system`` if the configuration refers to the proxies of the environment, and the environment sets none.
    /// Otherwise, returns ``direct``.
    static func withoutProxy(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) -> URLSessionRoute {
        guard configuration.proxy == .environment else { return .direct }
        return try ProxySettings(environment: environment).hasProxy ? .direct : .system
    }
}
