import HeadracePlatform

/// Where a redirect leads, and whether to go there (RFC 9110, section 15.4).
struct RedirectPolicy: Sendable {
    var maxRedirects: Int
    var allowsInsecure: Bool
    var keepsCookies: Bool

    /// The target of an answer that is a redirect, or nil for any other answer.
    ///
    /// - Parameters:
    ///   - head: The answer.
    ///   - count: How many redirects were followed before.
    /// - Returns: An absolute http or https URL, or nil.
    /// - Throws: `redirect` where it must not be followed, `protocolViolation` where the answer is ambiguous.
    func target(of head: ResponseHead, after count: Int) throws(DownloadError) -> URL? {
        guard [300, 301, 302, 303, 307, 308].contains(head.status) else { return nil }
        guard let location = try head.value("location") else { return nil }
        guard count < maxRedirects else {
            // A server that wants its cookie back redirects for ever.
            let missesCookie = !keepsCookies && !head.values("set-cookie").isEmpty
            throw DownloadError(
                .redirect,
                "The server redirected more than \(maxRedirects) times, the last time from \(head.url.withoutQuery)."
                    + (missesCookie ? " It sets a cookie, which is not sent back." : ""),
                statusCode: head.status
            )
            .remedied(by: missesCookie ? .cookies : nil)
        }
        guard let target = URL(string: location, relativeTo: head.url)?.absoluteURL, target.host()?.isEmpty == false
        else {
            // A password may have a question mark in it, and what is behind one may be a signature.
            let bare = location.withoutCredentials.prefix { $0 != "?" && $0 != "#" }
            throw DownloadError(
                .redirect,
                "The server redirected to \"\(String(bare.prefix(200)).printable)\", which is no URL.",
                statusCode: head.status
            )
        }
        guard target.isHTTPS || target.scheme?.lowercased() == "http" else {
            throw DownloadError(
                .redirect,
                "The server redirected to \(target.withoutQuery), "
                    + "which is neither http nor https.",
                statusCode: head.status
            )
        }
        guard (try? DownloadRequest.validateURL(target)) != nil else {
            throw DownloadError(
                .redirect,
                "The server redirected to \(target.withoutQuery), whose host or port is not valid in a URL.",
                statusCode: head.status
            )
        }
        guard allowsInsecure || !target.isDowngrade(from: head.url) else {
            throw .insecureRedirect(to: target, statusCode: head.status)
        }
        return target
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
