import HeadracePlatform

/// What a platform's `URLSession` can do, and what a configuration must therefore not ask of it; pure.
struct URLSessionCapabilities: Sendable, Hashable {
    /// Whether a task that is suspended goes on where it was.
    var suspends: Bool
    /// Whether a server can be judged by other authorities than the system's, and by its key.
    var evaluatesServerTrust: Bool
    /// Whether it goes by the variables of the environment that name proxies, whatever it is told.
    var readsProxyVariables: Bool

    /// Apple's.
    static let apple = URLSessionCapabilities(suspends: true, evaluatesServerTrust: true, readsProxyVariables: false)
    /// That of swift-corelibs-foundation, where a task that is suspended begins anew.
    static let corelibs = URLSessionCapabilities(
        suspends: false,
        evaluatesServerTrust: false,
        readsProxyVariables: true
    )

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
        switch configuration.proxy {
        case .environment: break
        case .url: throw Self.refusal("a proxy", "it goes through those of the system's settings")
        case .none where readsProxyVariables:
            guard try ProxySettings(environment: environment) == ProxySettings() else {
                throw Self.refusal(
                    "a proxy of none",
                    "on this platform it goes by http_proxy and its like all the same"
                )
            }
        case .none: break
        }
    }

    /// Throws where a request would have to go another way than it is told to.
    func validate(_ request: TransportRequest) throws(DownloadError) {
        guard let proxy = request.proxy else { return }
        throw DownloadError(
            .proxy,
            "The environment names the proxy \(proxy), and URLSession goes through those of the system's settings. "
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
