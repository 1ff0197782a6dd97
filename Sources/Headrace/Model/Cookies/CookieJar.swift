import HeadracePlatform

/// The cookies of one or several managers, set by servers or read from files (RFC 6265).
///
///     let jar = CookieJar()
///     try jar.add(netscapeFile: Data(contentsOf: file))
///     configuration.cookies = jar
///
/// Cookies are stored in memory only. A cookie is sent with requests to the URLs that match its domain and path, also
/// after redirects, and in addition to the request's own `Cookie` field. Secure cookies are sent only over https. A
/// server can set cookies for its host and for parent domains with a dot. Public suffixes such as `co.uk` are not
/// recognized.
public final class CookieJar: Sendable {
    let store = Locked(CookieStore())
    /// The cookies as read from files, even if they have since expired or been changed by a server.
    private let files = Locked(CookieStore())
    /// The clock, which returns the seconds since 1970.
    let now: @Sendable () -> Int64

    /// Creates an empty jar.
    public convenience init() {
        self.init(now: WallTime.seconds)
    }

    init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    /// The number of cookies, including expired ones that are not removed yet.
    public var count: Int { store.withLock { $0.count } }

    /// Adds the cookies of a file in the Netscape format (`cookies.txt`), except expired ones.
    ///
    /// Each cookie of the file, even an expired one, removes an earlier cookie with the same domain, path and name.
    /// - Parameter bytes: The contents of the file.
    /// - Throws: `invalidRequest` with the number of the first invalid line, but not its text; adds no cookies then.
    public func add(netscapeFile bytes: some Sequence<UInt8>) throws(DownloadError) {
        let cookies = try CookieFile.cookies(parsing: bytes)
        let now = now()
        store.withLock { store in
            for cookie in cookies { store.insert(cookie, at: now) }
        }
        files.withLock { files in
            for var cookie in cookies {
                cookie.expires = nil
                files.insert(cookie, at: now)
            }
        }
    }

    /// Returns the cookies from files that apply to a URL, as the value of a `Cookie` field; `nil` if there are none.
    ///
    /// These cookies identify the requester, because servers cannot change them.
    func given(for url: URL) -> String? {
        guard let scope = CookieScope(url) else { return nil }
        let now = now()
        return files.withLock { $0.field(for: scope, at: now) }
    }
}
