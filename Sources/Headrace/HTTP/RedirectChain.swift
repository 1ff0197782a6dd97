import HeadracePlatform

/// The URLs that one request leads to, and what may be sent to each.
struct RedirectChain: Sendable {
    let policy: RedirectPolicy
    private(set) var url: URL
    private(set) var count = 0
    private(set) var fields: [HeaderField]

    /// Begins at one of the sources of a request; secret fields are for the origin of the first one, and none of the caller's
    /// for a host that only an answer told of.
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

    /// Credentials that were dropped on the way do not come back, not even at their own origin.
    mutating func follow(_ target: URL) {
        if Origin(target) != Origin(url) { fields.removeAll(where: \.isBoundToOrigin) }
        enter(target)
        count += 1
    }

    /// User and password in a URL go into a field that stays with its origin, unless there is one already.
    private mutating func enter(_ target: URL) {
        url = target.withoutCredentials
        guard let login = target.login, !fields.contains(where: \.isAuthorization) else { return }
        fields.append(Credential.basic(user: login.user, password: login.password).field)
    }
}
