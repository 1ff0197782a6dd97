import HeadracePlatform

/// Another source of the same file, as the origin tells it in a `Link` field (RFC 6249, section 3).
///
/// A mirror is of use only where a checksum proves in the end what came from it; whether a way from https to http
/// is allowed is the caller's to say.
struct MirrorLink: Sendable, Hashable {
    /// The most mirrors of one answer.
    static let maxCount = 64
    private static let lastPriority = 999_999

    /// An absolute http or https URL, without a user or a password.
    let url: URL
    /// From 1, the first to ask, to 999,999, which is also that of a mirror without.
    let priority: Int

    /// Nil for a link that is none, or is about another resource.
    init?(_ link: WebLink, of url: URL) {
        guard link.has(relation: "duplicate"), link.value("anchor") == nil,
            let target = URL(string: link.target, relativeTo: url)?.absoluteURL,
            target.user == nil, target.password == nil, (try? DownloadRequest.validateURL(target)) != nil
        else { return nil }
        self.url = target
        let number = link.value("pri").flatMap { Int64(digits: $0) } ?? 0
        priority = number > 0 ? Int(min(number, Int64(Self.lastPriority))) : Self.lastPriority
    }

    /// The addresses of the mirrors of an answer, in the order in which to ask them; from https to http only where allowed.
    static func urls(of head: ResponseHead, allowsInsecure: Bool) -> [URL] {
        all(of: head).map(\.url).filter { allowsInsecure || !$0.isDowngrade(from: head.url) }
    }

    /// The mirrors of an answer, each of them once, in the order in which to ask them.
    static func all(of head: ResponseHead) -> [MirrorLink] {
        var urls: Set<URL> = [head.url]
        let mirrors = WebLink.all(of: head).compactMap { MirrorLink($0, of: head.url) }
            .filter { urls.insert($0.url).inserted }.enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        return mirrors.prefix(maxCount).map(\.element)
    }
}
