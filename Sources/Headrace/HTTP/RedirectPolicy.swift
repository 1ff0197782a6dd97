import HeadracePlatform

/// Determines the target of a redirect and whether to follow it (RFC 9110, section 15.4).
struct RedirectPolicy: Sendable {
    var maxRedirects: Int
    var allowsInsecure: Bool
    var keepsCookies: Bool

    /// Returns the target of a redirect, or `nil` for any other response.
    ///
    /// - Parameters:
    ///   - head: The response.
    ///   - count: The number of redirects already followed.
    /// - Returns: An absolute http or https URL, or `nil`.
    /// - Throws: `redirect` if it must not be followed, `protocolViolation` if the response is ambiguous.
    func target(of head: ResponseHead, after count: Int) throws(DownloadError) -> URL? {
        guard [300, 301, 302, 303, 307, 308].contains(head.status) else { return nil }
        guard let location = try head.value("location") else { return nil }
        guard count < maxRedirects else {
            // A server that requires its cookie redirects forever.
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
