/// The response to a challenge of a server or a proxy; pure.
enum URLSessionChallenge: Sendable, Hashable {
    /// As without a delegate.
    case handleByDefault
    /// No credential: the library logs in itself, and a 401 is delivered as it is.
    case reject
    /// The server is compared with the authorities and pins of the configuration.
    case evaluateServer

    /// - Parameters:
    ///   - method: The system's name of the authentication method.
    ///   - isProxy: Whether the proxy sent it, whose login and certificate are the system's.
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
