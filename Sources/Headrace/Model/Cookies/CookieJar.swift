import HeadracePlatform

/// The cookies of a manager, or of several: those that servers set, and those of files (RFC 6265).
///
/// They are in memory alone. Each is sent where its domain and path lead, on each hop of a redirect, beside a `Cookie` field
/// of the request itself, and secure ones to https alone. A server sets them for its host and the domains above it that have a
/// dot in them; other suffixes under which everybody can have a name, as `co.uk`, are not known.
public final class CookieJar: Sendable {
    let store = Locked(CookieStore())
    /// The cookies of files, with those that have expired or that a server has changed since.
    private let files = Locked(CookieStore())
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// Creates an empty jar.
    public convenience init() {
        self.init(now: WallTime.seconds)
    }

    init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    /// How many cookies there are.
    public var count: Int { store.withLock { $0.count } }

    /// Adds the cookies of a file in the form of Netscape's `cookies.txt`, but for those that have expired.
    /// - Parameter bytes: What is in the file.
    /// - Throws: `invalidRequest` with the line that is no cookie, without what is in it; then none is added.
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

    /// The cookies of files for a URL, in the form of the `Cookie` field; `nil` for none.
    ///
    /// They do not change while downloads run, unlike those that are sent.
    func given(for url: URL) -> String? {
        guard let place = CookieScope(url) else { return nil }
        let now = now()
        return files.withLock { $0.field(for: place, at: now) }
    }
}
