#if canImport(Network)
import Foundation
import Network

extension URLSessionConfiguration {
    /// Returns a copy that uses the proxies of a route, or `nil` if they cannot be set, because requests must not
    /// bypass a proxy.
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
    /// Creates a proxy configuration; `nil` if the port is invalid, which a `ProxyServer` rules out.
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
