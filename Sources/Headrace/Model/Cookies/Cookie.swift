import HeadracePlatform

/// A cookie and the URLs to which it is sent (RFC 6265, section 5.3).
struct Cookie: Sendable, Hashable {
    /// The maximum size in bytes of a name and its value together (RFC 6265, section 6.1).
    static let maxBytes = 4096

    var name: String
    var value: String
    /// The domain in lower case, without a leading dot.
    var domain: String
    /// Whether the cookie is sent only to the host ``domain``, and not to its subdomains.
    var isHostOnly: Bool
    var path: String
    /// Whether the cookie is sent only over https.
    var isSecure: Bool
    /// The expiry time in seconds since 1970; `nil` for a session cookie.
    var expires: Int64?

    func isExpired(at now: Int64) -> Bool { expires ?? .max <= now }

    func matches(_ scope: CookieScope) -> Bool {
        guard scope.isSecure || !isSecure else { return false }
        return (isHostOnly ? scope.host == domain : scope.isIn(domain)) && scope.isBelow(path)
    }

    /// Returns whether `other` is a secure cookie that this one could hide: their names are equal, their domains
    /// overlap, and this cookie's path is at or below that of `other` (RFC 6265bis, section 5.7).
    func hides(_ other: Cookie) -> Bool {
        other.isSecure && name == other.name && path.isBelow(path: other.path)
            && (domain.isIn(domain: other.domain) || other.domain.isIn(domain: domain))
    }
}

extension Cookie {
    /// Parses a `Set-Cookie` field (RFC 6265, section 5.2); returns `nil` if the cookie must be ignored.
    ///
    /// A server may set cookies for its own host and its parent domains, but not for a parent domain without a dot,
    /// such as `com`. Other public suffixes, such as `co.uk`, are not recognized.
    init?(parsing text: String, from scope: CookieScope, at now: Int64) {
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else { return nil }
        var parts = Self.split(text[...], at: ";")[...]
        let pair = Self.split(parts.popFirst() ?? "", at: "=", maxSplits: 1)
        guard pair.count == 2 else { return nil }
        name = String(pair[0].trimmed)
        value = String(pair[1].trimmed)
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maxBytes else { return nil }
        (domain, isHostOnly, path, isSecure, expires) = (scope.host, true, scope.defaultPath, false, nil)
        var maxAge: Int64?
        for part in parts {
            let pair = Self.split(part, at: "=", maxSplits: 1)
            let value = pair.count == 2 ? String(pair[1].trimmed) : ""
            switch pair.first.map({ $0.trimmed.lowercased() }) {
            case "domain":
                let domain = Self.domain(value)
                guard !domain.isEmpty else { break }
                (self.domain, isHostOnly) = (domain, false)
            case "path": path = value.hasPrefix("/") ? value : scope.defaultPath
            case "secure": isSecure = true
            case "expires": expires = CookieDate.seconds(parsing: value) ?? expires
            case "max-age": maxAge = Self.age(value) ?? maxAge
            default: break
            }
        }
        if let maxAge { expires = maxAge <= 0 ? .min : now.addingReportingOverflow(maxAge).partialValue }
        guard Self.canBeSet(for: domain, by: scope), scope.isSecure || !isSecure, satisfiesPrefix else { return nil }
        if domain == scope.host, !Self.hasDot(domain) { isHostOnly = true }
    }

    /// Whether the cookie meets the rules for names that begin with `__Host-` or `__Secure-`; `true` for other names
    /// (RFC 6265bis, section 4.1.3).
    private var satisfiesPrefix: Bool {
        let name = name.lowercased()
        if name.hasPrefix("__host-") { return isSecure && isHostOnly && path == "/" }
        return isSecure || !name.hasPrefix("__secure-")
    }

    /// Normalizes a domain for comparison: in lower case, without a leading dot.
    static func domain(_ text: String) -> String {
        // A dot before a combining mark is not a `Character` of its own, so scalars are compared.
        let scalars = text.unicodeScalars
        return String(scalars.first == "." ? scalars.dropFirst() : scalars[...]).lowercased()
    }

    static func hasDot(_ domain: String) -> Bool { domain.utf8.contains(UInt8(ascii: ".")) }

    /// Splits a text at a Unicode scalar, since a separator before a combining mark is not a `Character` of its own.
    private static func split(_ text: Substring, at separator: Unicode.Scalar, maxSplits: Int = .max) -> [Substring] {
        text.unicodeScalars.split(separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map(Substring.init)
    }

    private static func canBeSet(for domain: String, by scope: CookieScope) -> Bool {
        domain == scope.host || (scope.isIn(domain) && hasDot(domain) && domain.utf8.last != UInt8(ascii: "."))
    }

    /// Parses `Max-Age` in seconds; returns `nil` for any other text.
    ///
    /// A negative number counts as 0, and more than 400 days count as 400 days.
    private static func age(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard digits.isDigits else { return nil }
        return text.hasPrefix("-") ? 0 : min(Int64(digits) ?? .max, 400 * 86_400)
    }
}
