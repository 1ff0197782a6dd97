/// The action for an authentication challenge of a server or a proxy; performs no I/O.
enum URLSessionChallenge: Sendable, Hashable {
    /// The system handles the challenge as it does without a delegate.
    case handleByDefault
    /// No credential is sent: the library itself authenticates, and a 401 response is delivered unchanged.
    case reject
    /// The server's certificate is evaluated with the authorities and pins of the configuration.
    case evaluateServer

    /// Chooses the action for a challenge.
    /// - Parameters:
    ///   - method: The system's name of the authentication method.
    ///   - isProxy: Whether the proxy sent the challenge; the system handles logins and certificates for proxies.
    ///   - evaluatesServers: Whether the configuration has authorities or pins.
    init(method: String, isProxy: Bool, evaluatesServers: Bool) {
        self =
            if isProxy {
                .handleByDefault
            } else if method != "NSURLAuthenticationMethodServerTrust" {
                .reject
            } else {
                evaluatesServers ? .evaluateServer : .handleByDefault
            }
    }
}
