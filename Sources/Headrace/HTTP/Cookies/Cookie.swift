import HeadracePlatform

/// What a server wants to be told again, and whom to tell it (RFC 6265, section 5.3).
struct Cookie: Sendable, Hashable {
    /// The most bytes of a name and its value together (section 6.1).
    static let maxBytes = 4096

    var name: String
    var value: String
    /// In lower case, without a dot at its front.
    var domain: String
    /// Whether it is for the host of ``domain`` alone, and not for those below it.
    var isHostOnly: Bool
    var path: String
    /// Whether it is for https alone.
    var isSecure: Bool
    /// Seconds since 1970; nil for as long as the jar lives.
    var expires: Int64?

    func matches(_ place: CookieScope) -> Bool {
        guard place.isSecure || !isSecure else { return false }
        return (isHostOnly ? place.host == domain : place.isIn(domain)) && place.isBelow(path)
    }

    /// Whether it would be told beside a cookie of https, or instead of it (RFC 6265bis, section 5.7).
    func hides(_ other: Cookie) -> Bool {
        other.isSecure && name == other.name && path.isBelow(path: other.path)
            && (domain.isIn(domain: other.domain) || other.domain.isIn(domain: domain))
    }
}

extension String {
    /// Whether it is a path, or one below it (section 5.1.4).
    fileprivate func isBelow(path: String) -> Bool {
        guard self != path else { return true }
        return hasPrefix(path)
            && (path.hasSuffix("/") || utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/"))
    }
}

/// A URL as cookies see it.
struct CookieScope: Sendable, Hashable {
    /// In lower case.
    let host: String
    let path: String
    let isSecure: Bool
    private let isAddress: Bool

    /// Nil for a URL without a host.
    init?(_ url: URL) {
        guard let host = url.host(percentEncoded: false)?.lowercased(), !host.isEmpty else { return nil }
        self.host = host
        let path = url.path(percentEncoded: true)
        self.path = path.hasPrefix("/") ? path : "/"
        isSecure = url.isHTTPS
        isAddress = host.contains(":") || IPAddress(host) != nil
    }

    func isIn(_ domain: String) -> Bool { isAddress ? host == domain : host.isIn(domain: domain) }

    /// The host and the domains above it, whose cookies may be for it.
    var domains: [String] {
        guard !isAddress else { return [host] }
        return [host] + host.indices.filter { host[$0] == "." }.map { String(host[host.index(after: $0)...]) }
    }

    func isBelow(_ other: String) -> Bool { path.isBelow(path: other) }

    /// The path up to its last slash (section 5.1.4).
    var defaultPath: String {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        return folder.isEmpty ? "/" : folder
    }
}

extension Cookie {
    /// Reads a `Set-Cookie` field (section 5.2); nil for what is to be ignored.
    ///
    /// A server sets cookies for its own host and the domains above it, but for none without a dot in it, which belongs to
    /// many. Other public suffixes, as `co.uk`, are not known.
    init?(parsing text: String, from place: CookieScope, at now: Int64) {
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else { return nil }
        var parts = Self.split(text[...], at: ";")[...]
        let pair = Self.split(parts.popFirst() ?? "", at: "=", maxSplits: 1)
        guard pair.count == 2 else { return nil }
        name = String(pair[0].trimmed)
        value = String(pair[1].trimmed)
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maxBytes else { return nil }
        (domain, isHostOnly, path, isSecure, expires) = (place.host, true, place.defaultPath, false, nil)
        var maxAge: Int64?
        for part in parts {
            let pair = Self.split(part, at: "=", maxSplits: 1)
            let value = pair.count == 2 ? String(pair[1].trimmed) : ""
            switch pair.first.map({ $0.trimmed.lowercased() }) {
            case "domain":
                let domain = Self.domain(value)
                guard !domain.isEmpty else { break }
                (self.domain, isHostOnly) = (domain, false)
            case "path": path = value.hasPrefix("/") ? value : place.defaultPath
            case "secure": isSecure = true
            case "expires": expires = CookieDate.seconds(parsing: value) ?? expires
            case "max-age": maxAge = Self.age(value) ?? maxAge
            default: break
            }
        }
        if let maxAge { expires = maxAge <= 0 ? .min : now.addingReportingOverflow(maxAge).partialValue }
        guard Self.mayBeSet(for: domain, by: place), place.isSecure || !isSecure, keepsPrefix else { return nil }
        if domain == place.host, !Self.hasDot(domain) { isHostOnly = true }
    }

    /// Whether it is what its name promises (RFC 6265bis, section 4.1.3).
    private var keepsPrefix: Bool {
        let name = name.lowercased()
        if name.hasPrefix("__host-") { return isSecure && isHostOnly && path == "/" }
        return isSecure || !name.hasPrefix("__secure-")
    }

    /// A domain as it is compared: in lower case, and without the dot that may be at its front.
    static func domain(_ text: String) -> String {
        // Before a combining mark, the dot is no character of its own.
        let scalars = text.unicodeScalars
        return String(scalars.first == "." ? scalars.dropFirst() : scalars[...]).lowercased()
    }

    static func hasDot(_ domain: String) -> Bool { domain.utf8.contains(UInt8(ascii: ".")) }

    /// A separator counts before a combining mark too, where it is no character of its own.
    private static func split(_ text: Substring, at separator: Unicode.Scalar, maxSplits: Int = .max) -> [Substring] {
        text.unicodeScalars.split(separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map(Substring.init)
    }

    private static func mayBeSet(for domain: String, by place: CookieScope) -> Bool {
        domain == place.host || (place.isIn(domain) && hasDot(domain) && domain.utf8.last != UInt8(ascii: "."))
    }

    /// Seconds, perhaps with a minus; not more than 400 days.
    private static func age(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard digits.isDigits else { return nil }
        return text.hasPrefix("-") ? 0 : min(Int64(digits) ?? .max, 400 * 86_400)
    }
}
