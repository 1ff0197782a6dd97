import HeadracePlatform

/// Another source of the same file, which a Metalink document names or the origin server advertises in a `Link` field
/// (RFC 5854, section 4.2.16; RFC 6249, section 3).
///
/// A mirror is useful only if a checksum verifies the complete file; the caller decides whether an http mirror of an
/// https file is allowed.
struct MirrorLink: Sendable, Hashable {
    /// The maximum number of mirrors used from one response.
    static let maxCount = 64
    static let lastPriority = 999_999

    /// An absolute http or https URL, without a user or a password.
    let url: URL
    /// The priority, from 1 (the first to use) to 999,999, which is also the default.
    let priority: Int

    /// Creates a mirror; returns `nil` if the library cannot download from the URL, or if the URL has a login.
    init?(_ url: URL?, priority: Int) {
        guard let url, url.user == nil, url.password == nil, (try? url.validate()) != nil else { return nil }
        (self.url, self.priority) = (url, priority)
    }

    /// Creates a mirror from a link in the response for `url`; returns `nil` if the link leads to no usable mirror.
    init?(_ link: WebLink, of url: URL) {
        guard link.has(relation: "duplicate"), link.value("anchor") == nil else { return nil }
        let number = link.value("pri").flatMap { Int64(digits: $0) } ?? 0
        let priority = number > 0 ? Int(min(number, Int64(Self.lastPriority))) : Self.lastPriority
        self.init(URL(encoding: link.target, relativeTo: url)?.absoluteURL, priority: priority)
    }

    /// Returns the URLs of the mirrors in a response, by priority.
    ///
    /// Leaves out http mirrors of an https response unless `allowsInsecure` is set.
    static func urls(of head: ResponseHead, allowsInsecure: Bool) -> [URL] {
        all(of: head).map(\.url).filter { allowsInsecure || !$0.isDowngrade(from: head.url) }
    }

    /// Returns the mirrors in a response by priority, without duplicates and up to ``maxCount``.
    static func all(of head: ResponseHead) -> [MirrorLink] {
        WebLink.all(of: head).compactMap { MirrorLink($0, of: head.url) }
            .byPriority(upTo: maxCount, without: [head.url])
    }
}

extension [MirrorLink] {
    /// Returns the mirrors by priority, each URL once and without the `known` ones, up to a maximum number.
    func byPriority(upTo maxCount: Int, without known: Set<URL> = []) -> [MirrorLink] {
        var known = known
        let sorted = enumerated().sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        return Array(sorted.map(\.element).filter { known.insert($0.url).inserted }.prefix(maxCount))
    }
}
