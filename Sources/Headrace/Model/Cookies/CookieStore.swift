/// Stores cookies by domain; performs no I/O and reads no clock.
struct CookieStore: Sendable {
    /// The maximum number of cookies that servers set per domain, as in browsers.
    ///
    /// Each further cookie evicts the oldest insecure cookie of the domain or, if all are secure, the oldest cookie.
    static let maxPerDomain = 180
    /// The maximum number of cookies that servers set in all domains together; the order of eviction is the same.
    static let maxCount = 3000

    /// The properties that identify a cookie within its domain.
    private struct Key: Sendable, Hashable {
        var path: String
        var name: String

        init(_ cookie: Cookie) {
            path = cookie.path
            name = cookie.name
        }
    }

    private struct Entry: Sendable {
        var cookie: Cookie
        /// The position of the cookie in the order of creation.
        var number: UInt64
        /// Whether a server set the cookie; the user's cookies are never evicted, even if servers replace their values.
        var isEvictable: Bool

        /// Returns whether this cookie is evicted before `other`: insecure cookies first, then the oldest.
        ///
        /// This order keeps a response over http from displacing cookies set over https.
        func isEvicted(before other: Entry) -> Bool {
            cookie.isSecure == other.cookie.isSecure ? number < other.number : other.cookie.isSecure
        }
    }

    private var domains: [String: [Key: Entry]] = [:]
    private(set) var count = 0
    private var evictableCount = 0
    private var lastNumber: UInt64 = 0

    /// Stores a cookie, replacing an earlier one with the same domain, path and name.
    ///
    /// If the new cookie has expired, only removes the earlier one.
    ///
    /// The limits apply only to the cookies of servers, which ``store(_:from:at:)`` stores.
    mutating func insert(_ cookie: Cookie, at now: Int64) { insert(cookie, isEvictable: false, at: now) }

    private mutating func insert(_ cookie: Cookie, isEvictable: Bool, at now: Int64) {
        let known = remove(Key(cookie), of: cookie.domain)
        guard !cookie.isExpired(at: now) else { return }
        if known == nil { lastNumber += 1 }
        let entry = Entry(
            cookie: cookie,
            number: known?.number ?? lastNumber,
            isEvictable: isEvictable && known?.isEvictable != false
        )
        domains[cookie.domain, default: [:]][Key(cookie)] = entry
        count += 1
        if entry.isEvictable { evictableCount += 1 }
    }

    /// Stores the valid cookies in `fields`, the values of a response's `Set-Cookie` fields.
    ///
    /// Removes all expired cookies first. Ignores a cookie that was sent over http and would override a secure cookie.
    mutating func store(_ fields: [String], from scope: CookieScope, at now: Int64) {
        if !fields.isEmpty { removeExpired(at: now) }
        for field in fields {
            guard let cookie = Cookie(parsing: field, from: scope, at: now) else { continue }
            // A response over http must not override a secure cookie.
            guard scope.isSecure || !hidesAnother(cookie) else { continue }
            insert(cookie, isEvictable: true, at: now)
            dropExcess(of: cookie.domain)
        }
    }

    private func hidesAnother(_ cookie: Cookie) -> Bool {
        domains.values.contains { $0.values.contains { cookie.hides($0.cookie) } }
    }

    /// Returns the value of the `Cookie` field for a URL (RFC 6265, section 5.4), or `nil` if no cookie applies.
    func field(for scope: CookieScope, at now: Int64) -> String? {
        let found = scope.domains.flatMap { domains[$0]?.values.map(\.self) ?? [] }.filter { entry in
            entry.cookie.matches(scope) && !entry.cookie.isExpired(at: now)
        }
        guard !found.isEmpty else { return nil }
        return found.sorted { left, right in
            let (longer, shorter) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return longer == shorter ? left.number < right.number : longer > shorter
        }.map { "\($0.cookie.name)=\($0.cookie.value)" }.joined(separator: "; ")
    }

    /// Removes expired cookies, which would count toward the limits and block cookies of the same name over http.
    private mutating func removeExpired(at now: Int64) {
        for (domain, entries) in domains {
            for (key, entry) in entries where entry.cookie.isExpired(at: now) { remove(key, of: domain) }
        }
    }

    private mutating func dropExcess(of domain: String) {
        if let own = domains[domain], own.values.count(where: \.isEvictable) > Self.maxPerDomain,
            let first = Self.firstToEvict(of: own)
        {
            remove(first.key, of: domain)
        }
        guard evictableCount > Self.maxCount else { return }
        let first = domains.compactMap { domain, entries in Self.firstToEvict(of: entries).map { (domain, $0) } }
            .min { $0.1.value.isEvicted(before: $1.1.value) }
        if let first { remove(first.1.key, of: first.0) }
    }

    private static func firstToEvict(of entries: [Key: Entry]) -> (key: Key, value: Entry)? {
        entries.filter(\.value.isEvictable).min { $0.value.isEvicted(before: $1.value) }
    }

    @discardableResult
    private mutating func remove(_ key: Key, of domain: String) -> Entry? {
        guard let entry = domains[domain]?.removeValue(forKey: key) else { return nil }
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        if entry.isEvictable { evictableCount -= 1 }
        return entry
    }
}
