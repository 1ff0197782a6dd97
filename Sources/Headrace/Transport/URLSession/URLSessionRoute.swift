import HeadracePlatform

/// The way to a server, which holds for all requests of a `URLSession`, so that each route has a session; pure.
enum URLSessionRoute: Sendable, Hashable {
    /// By the proxies of the system's settings, if there are any.
    case system
    /// Straight to the server.
    case direct
    case proxy(ProxyServer)

    /// The route of a request without a proxy: the system's settings decide only if neither the configuration nor the
    /// environment does.
    static func withoutProxy(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) -> URLSessionRoute {
        guard configuration.proxy == .environment else { return .direct }
        return try ProxySettings(environment: environment).hasProxy ? .direct : .system
    }
}
