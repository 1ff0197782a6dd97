import HeadracePlatform

/// The capabilities of a platform's `URLSession`, by which unsupported settings are rejected; performs no I/O.
struct URLSessionCapabilities: Sendable, Hashable {
    /// Whether a suspended task resumes at the byte at which it was suspended, instead of starting over.
    var suspends: Bool
    /// Whether servers can be evaluated with custom certificate authorities and key pins.
    var evaluatesServerTrust: Bool
    /// Whether the proxy can be chosen for each request.
    var choosesProxies: Bool

    /// The capabilities on Apple platforms.
    static let apple = URLSessionCapabilities(suspends: true, evaluatesServerTrust: true, choosesProxies: true)
    /// The capabilities of swift-corelibs-foundation, where a suspended task starts over and the proxies of the
    /// environment are always used.
    static let corelibs = URLSessionCapabilities(suspends: false, evaluatesServerTrust: false, choosesProxies: false)

    /// The capabilities on this platform.
    static var current: URLSessionCapabilities {
        #if canImport(Darwin)
        apple
        #else
        corelibs
        #endif
    }

    /// Throws `invalidRequest` if the configuration has a setting that the platform does not support.
    func validate(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) {
        if configuration.allowsAddress != nil {
            throw Self.refusal("allowsAddress", "it cannot check addresses before it connects")
        }
        if configuration.connectionPolicy != ConnectionPolicy() {
            throw Self.refusal("connectionPolicy", "it chooses addresses, interfaces and HTTP versions itself")
        }
        if configuration.clientCertificate != nil {
            throw Self.refusal("clientCertificate", "it reads identities from the keychain only, not from PEM files")
        }
        if !evaluatesServerTrust, configuration.certificateAuthorities != nil || !configuration.pinnedPublicKeys.isEmpty
        {
            throw Self.refusal(
                "certificateAuthorities and pinnedPublicKeys",
                "on this platform, it does not support custom evaluation of servers"
            )
        }
        guard !choosesProxies else { return }
        switch configuration.proxy {
        case .environment: break
        case .url: throw Self.refusal("a proxy", "on this platform it uses the proxies of the environment")
        case .none:
            guard try ProxySettings(environment: environment) == ProxySettings() else {
                throw Self.refusal(
                    "a proxy of none",
                    "on this platform, it always uses http_proxy and similar variables"
                )
            }
        }
    }

    /// Throws `invalidRequest` if the request accepts content codings or requires a public address, and `proxy` if it
    /// has a proxy that the platform cannot set for one request.
    func validate(_ request: TransportRequest) throws(DownloadError) {
        guard request.acceptEncoding == nil else {
            throw Self.refusal("decodesContent", "it decodes bodies as they arrive, so that they could not be resumed")
        }
        guard !request.requiresPublicAddress else {
            throw Self.refusal("requiresPublicAddress", "it cannot check addresses before it connects")
        }
        guard !choosesProxies, let proxy = request.proxy else { return }
        throw DownloadError(
            .proxy,
            "The environment names the proxy \(proxy), but on this platform URLSession cannot use it for one request. "
                + "Unset the variable or use another transport."
        )
    }

    private static func refusal(_ setting: String, _ reason: String) -> DownloadError {
        DownloadError(
            .invalidRequest,
            "URLSession does not support \(setting): \(reason). Remove the setting or use another transport."
        )
    }
}
