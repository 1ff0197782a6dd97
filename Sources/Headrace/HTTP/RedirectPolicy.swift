import HeadracePlatform

/// Determines the target of a redirect and whether to follow it (RFC 9110, section 15.4).
struct RedirectPolicy: Sendable {
    var maxRedirects: Int
    var allowsInsecure: Bool
    var keepsCookies: Bool

    /// Returns the target of a redirect, or `nil` if the response is not a redirect or has no `Location`.
    ///
    /// - Parameters:
    ///   - head: The response.
    ///   - count: The number of redirects already followed.
    ///   - upgraded: Returns the https URL that replaces an http URL; `nil` for others.
    /// - Returns: An absolute http or https URL, or `nil`.
    /// - Throws: `redirect` if the target must not be followed, `protocolViolation` if the response is ambiguous.
    func target(
        of head: ResponseHead,
        after count: Int,
        upgraded: (URL) -> URL? = { _ in nil }
    ) throws(DownloadError) -> URL? {
        guard [300, 301, 302, 303, 307, 308].contains(head.status) else { return nil }
        guard let location = try head.value("location") else { return nil }
        guard count < maxRedirects else {
            // A server may redirect until the request has the server's cookie.
            let missesCookie = !keepsCookies && !head.values("set-cookie").isEmpty
            throw DownloadError(
                .redirect,
                "The server redirected more than \(maxRedirects) times, the last time from \(head.url.withoutQuery)."
                    + (missesCookie ? " It sets a cookie, which is not sent back." : ""),
                statusCode: head.status
            )
            .remedied(by: missesCookie ? .cookies : nil)
        }
        guard let target = URL(encoding: location, relativeTo: head.url)?.absoluteURL, target.host()?.isEmpty == false
        else {
            // A password may contain a question mark, and the text after one may be a signature.
            let bare = location.withoutCredentials.prefix { $0 != "?" && $0 != "#" }
            throw DownloadError(
                .redirect,
                "The server redirected to \"\(String(bare.prefix(200)).printable)\", which is not a URL.",
                statusCode: head.status
            )
        }
        guard target.isHTTPS || target.scheme?.lowercased() == "http" else {
            throw DownloadError(
                .redirect,
                "The server redirected to \(target.withoutQuery), which is neither http nor https.",
                statusCode: head.status
            )
        }
        guard (try? target.validate()) != nil else {
            throw DownloadError(
                .redirect,
                "The server redirected to \(target.withoutQuery), whose host or port is not valid in a URL.",
                statusCode: head.status
            )
        }
        if let target = upgraded(target) { return target }
        guard allowsInsecure || !target.isDowngrade(from: head.url) else {
            throw .insecureRedirect(to: target, statusCode: head.status)
        }
        return target
    }
}

/// Follows the redirects of one request and decides which fields may be sent to each URL.
struct RedirectChain: Sendable {
    let policy: RedirectPolicy
    private(set) var url: URL
    private(set) var count = 0
    /// Whether another server has chosen the URL, by a redirect or as a mirror.
    ///
    /// Remains `true` if a later redirect leads back. A redirect to https on the same host does not count.
    private(set) var isChosenElsewhere = false
    private(set) var fields: [HeaderField]
    /// The method of the next request; redirects may change it to GET.
    private(set) var method: String
    /// Whether the next request has the caller's body.
    private(set) var sendsBody: Bool
    let mayRepeat: Bool
    private let isBodySecret: Bool
    let connectTimeout: Duration
    let stallTimeout: Duration

    /// Begins the chain at one of the sources of a request.
    ///
    /// A source whose origin differs from that of the request's URL gets no fields that are bound to an origin. If
    /// such a source is not in the request but was advertised by a response (`isAdvertised`), it gets none of the
    /// caller's fields.
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
        // A closure, as on the right of `??`, cannot capture the borrowed configuration on Apple platforms.
        let (connect, stall) = (configuration.connectTimeout, configuration.stallTimeout)
        connectTimeout = request.connectTimeout ?? connect
        stallTimeout = request.stallTimeout ?? stall
        url = source
        method = request.method
        sendsBody = request.body != nil
        mayRepeat = request.mayRepeat
        isBodySecret = request.body?.isSecret ?? false
        fields = request.headers
        if source != request.url, Origin(source) != Origin(request.url) {
            fields.removeAll { isAdvertised || $0.isBoundToOrigin }
            isChosenElsewhere = isAdvertised
        }
        enter(source)
    }

    /// Continues the chain at the target of a redirect.
    ///
    /// Credentials that an earlier redirect removed are not restored, even if this redirect leads back to their origin.
    ///
    /// Throws `redirect` if a secret body would be sent to another origin.
    mutating func follow(_ target: URL, status: Int = 307) throws(DownloadError) {
        if method != "GET", status == 303 || method == "POST" && [301, 302].contains(status) {
            method = "GET"
            sendsBody = false
            fields.removeAll { $0.name.lowercased().hasPrefix("content-") }
        }
        guard !sendsBody || !isBodySecret || Origin(target) == Origin(url) else {
            throw DownloadError(
                .redirect,
                "The server redirected to \(target.withoutQuery), which must not receive the secret body.",
                statusCode: status
            )
        }
        if Origin(target) != Origin(url) {
            fields.removeAll(where: \.isBoundToOrigin)
            if !target.isHTTPS || target.lowercasedHost != url.lowercasedHost { isChosenElsewhere = true }
        }
        enter(target)
        count += 1
    }

    /// Replaces the http URL, before it is requested, with the https URL of the same host; keeps all fields.
    mutating func upgrade(to target: URL) { url = target }

    /// Sets the URL without its login and dot segments; the login becomes an `Authorization` field unless there already
    /// is one.
    private mutating func enter(_ target: URL) {
        url = target.withoutCredentials.withoutDotSegments
        guard let login = target.login, !fields.contains(where: \.isAuthorization) else { return }
        fields.append(Credential.login(user: login.user, password: login.password).field)
    }
}

extension DownloadError {
    static func insecureRedirect(to target: URL, statusCode: Int? = nil) -> DownloadError {
        DownloadError(
            .redirect,
            "The server redirected from https to \(target.withoutQuery). Following it must be allowed explicitly.",
            statusCode: statusCode
        )
        .remedied(by: .insecureRedirects)
    }
}
