#if canImport(Network)
import Foundation
import Network

extension URLSessionConfiguration {
    /// Returns a copy that uses the proxies of a route.
    ///
    /// Returns `nil` if the proxies cannot be set. The request then fails instead of bypassing a proxy.
    func routed(_ route: URLSessionRoute) -> URLSessionConfiguration? {
        guard let copy = copy() as? URLSessionConfiguration else { return nil }
        switch route {
        case .system: return copy
        case .direct: copy.proxyConfigurations = []
        case .proxy(let proxy):
            guard let configuration = ProxyConfiguration(proxy) else { return nil }
            copy.proxyConfigurations = [configuration]
        }
        // Without this, the proxies of the system's settings would still apply.
        copy.connectionProxyDictionary = [:]
        return copy
    }
}

extension ProxyConfiguration {
    /// Creates a proxy configuration; never returns `nil` in practice, because the port of a `ProxyServer` is valid.
    fileprivate init?(_ proxy: ProxyServer) {
        guard let port = NWEndpoint.Port(rawValue: proxy.port) else { return nil }
        let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(proxy.host), port: port)
        if proxy.isSOCKS {
            self.init(socksv5Proxy: endpoint)
        } else {
            self.init(httpCONNECTProxy: endpoint, tlsOptions: proxy.speaksTLS ? NWProtocolTLS.Options() : nil)
        }
        // Requests fail if the proxy is unavailable, instead of connecting directly.
        allowFailover = false
        if let user = proxy.user { applyCredential(username: user, password: proxy.password ?? "") }
    }
}
#endif
