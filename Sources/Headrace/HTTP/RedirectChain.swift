import HeadracePlatform

/// Follows the redirects of one request and decides which fields may be sent to each URL.
struct RedirectChain: Sendable {
    let policy: RedirectPolicy
    private(set) var url: URL
    private(set) var count = 0
    private(set) var fields: [HeaderField]

    /// Begins at one of the sources of a request.
    ///
    /// Another origin than the request's receives no secret fields, and, if only a response advertised it, none of the caller's
    /// fields.
    init(
        _ request: borrowing DownloadRequest,
        at source: URL,
        isAdvertised: Bool = false,
        _ configuration: borrowing DownloadConfiguration
    ) {
        policy = RedirectPolicy(
            maxRedirects: configuration.maxRedirects,
            allowsInsecure: configuration.allowsInsecureRedirects,
            keepsCookies: configuration.cookies != nil
        )
        url = source
        fields = request.headers
        if source != request.url, Origin(source) != Origin(request.url) {
            fields.removeAll { isAdvertised || $0.isBoundToOrigin }
        }
        enter(source)
    }

    /// Follows a redirect; credentials dropped on the way are not restored, not even at their own origin.
    mutating func follow(_ target: URL) {
        if Origin(target) != Origin(url) { fields.removeAll(where: \.isBoundToOrigin) }
        enter(target)
        count += 1
    }

    /// Moves a login from the URL into a field that stays with its origin, unless there is one already.
    private mutating func enter(_ target: URL) {
        url = target.withoutCredentials
        guard let login = target.login, !fields.contains(where: \.isAuthorization) else { return }
        fields.append(Credential.basic(user: login.user, password: login.password).field)
    }
}
