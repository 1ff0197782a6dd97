import HeadracePlatform

/// What a platform's `URLSession` can do, and what a configuration must therefore not ask of it; pure.
struct URLSessionCapabilities: Sendable, Hashable {
    /// Whether a task that is suspended goes on where it was.
    var suspends: Bool
    /// Whether a server can be judged by other authorities than the system's, and by its key.
    var evaluatesServerTrust: Bool
    /// Whether each request can be sent through the proxy that is chosen for it, or through none.
    var choosesProxies: Bool

    /// Apple's.
    static let apple = URLSessionCapabilities(suspends: true, evaluatesServerTrust: true, choosesProxies: true)
    /// That of swift-corelibs-foundation.
    ///
    /// A task that is suspended begins anew there. The proxies are those of the environment, whatever it is told.
    static let corelibs = URLSessionCapabilities(suspends: false, evaluatesServerTrust: false, choosesProxies: false)

    /// This platform's.
    static var current: URLSessionCapabilities {
        #if canImport(Darwin)
        apple
        #else
        corelibs
        #endif
    }

    /// Throws `invalidRequest` for the first setting that would have to be ignored.
    func validate(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) {
        if configuration.allowsAddress != nil {
            throw Self.refusal("allowsAddress", "it connects without asking")
        }
        if configuration.clientCertificate != nil {
            throw Self.refusal("clientCertificate", "it takes identities from a keychain and no PEM file")
        }
        if !evaluatesServerTrust, configuration.certificateAuthorities != nil || !configuration.pinnedPublicKeys.isEmpty
        {
            throw Self.refusal(
                "certificateAuthorities and pinnedPublicKeys",
                "on this platform it judges servers alone"
            )
        }
        guard !choosesProxies else { return }
        switch configuration.proxy {
        case .environment: break
        case .url: throw Self.refusal("a proxy", "on this platform it chooses proxies by itself")
        case .none:
            guard try ProxySettings(environment: environment) == ProxySettings() else {
                throw Self.refusal(
                    "a proxy of none",
                    "on this platform it goes by http_proxy and its like all the same"
                )
            }
        }
    }

    /// Throws if a request would be sent another way than it is told to.
    func validate(_ request: TransportRequest) throws(DownloadError) {
        guard !choosesProxies, let proxy = request.proxy else { return }
        throw DownloadError(
            .proxy,
            "The environment names the proxy \(proxy), and on this platform URLSession chooses proxies by itself. "
                + "Remove the variable or take another transport."
        )
    }

    private static func refusal(_ setting: String, _ reason: String) -> DownloadError {
        DownloadError(
            .invalidRequest,
            "URLSession cannot work with \(setting): \(reason). Leave it out or take another transport."
        )
    }
}
