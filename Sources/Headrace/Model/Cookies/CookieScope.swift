import HeadracePlatform

/// The parts of a URL that decide which cookies apply to it.
struct CookieScope: Sendable, Hashable {
    /// The host in lower case.
    let host: String
    let path: String
    let isSecure: Bool
    private let isAddress: Bool

    /// Creates the scope of a URL; returns `nil` if the URL has no host.
    init?(_ url: URL) {
        guard let host = url.host(percentEncoded: false)?.lowercased(), !host.isEmpty else { return nil }
        self.host = host
        let path = url.path(percentEncoded: true)
        self.path = path.hasPrefix("/") ? path : "/"
        isSecure = url.isHTTPS
        isAddress = host.contains(":") || IPAddress(host) != nil
    }

    func isIn(_ domain: String) -> Bool { host.isIn(domain: domain) }

    /// The domains whose cookies may apply: the host and, unless it is an IP address, its parent domains.
    var domains: [String] {
        guard !isAddress else { return [host] }
        return [host] + host.indices.filter { host[$0] == "." }.map { String(host[host.index(after: $0)...]) }
    }

    func isBelow(_ other: String) -> Bool { path.isBelow(path: other) }

    /// The path of a cookie without `Path`: the URL's path up to its last slash (RFC 6265, section 5.1.4).
    var defaultPath: String {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        return folder.isEmpty ? "/" : folder
    }
}

extension String {
    /// Returns whether this path is `path` or below it (RFC 6265, section 5.1.4).
    func isBelow(path: String) -> Bool {
        guard self != path else { return true }
        return hasPrefix(path)
            && (path.hasSuffix("/") || utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/"))
    }
}
