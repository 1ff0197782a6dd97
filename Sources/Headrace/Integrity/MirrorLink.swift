import HeadracePlatform

/// Another source of the same file, which the origin server advertises in a `Link` field (RFC 6249, section 3).
///
/// A mirror is useful only if a checksum verifies the complete file; the caller decides whether an http mirror of an
/// https file is allowed.
struct MirrorLink: Sendable, Hashable {
    /// The maximum number of mirrors used from one response.
    static let maxCount = 64
    private static let lastPriority = 999_999

    /// An absolute http or https URL, without a user or a password.
    let url: URL
    /// The priority, from 1 (the first to use) to 999,999, which is also the default.
    let priority: Int

    /// Creates a mirror from a link in the response for `url`; returns `nil` if the link leads to no usable mirror.
    init?(_ link: WebLink, of url: URL) {
        guard link.has(relation: "duplicate"), link.value("anchor") == nil,
            let target = URL(encoding: link.target, relativeTo: url)?.absoluteURL,
            target.user == nil, target.password == nil, (try? target.validate()) != nil
        else { return nil }
        self.url = target
        let number = link.value("pri").flatMap { Int64(digits: $0) } ?? 0
        priority = number > 0 ? Int(min(number, Int64(Self.lastPriority))) : Self.lastPriority
    }

    /// Returns the URLs of the mirrors in a response, by priority.
    ///
    /// Leaves out http mirrors of an https response unless `allowsInsecure` is set.
    static func urls(of head: ResponseHead, allowsInsecure: Bool) -> [URL] {
        all(of: head).map(\.url).filter { allowsInsecure || !$0.isDowngrade(from: head.url) }
    }

    /// Returns the mirrors in a response by priority, without duplicates and up to ``maxCount``.
    static func all(of head: ResponseHead) -> [MirrorLink] {
        var urls: Set<URL> = [head.url]
        let mirrors = WebLink.all(of: head).compactMap { MirrorLink($0, of: head.url) }
            .filter { urls.insert($0.url).inserted }.enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        return mirrors.prefix(maxCount).map(\.element)
    }
}
