import HeadracePlatform

/// Everything that the caller supplies to identify the sender of a request.
///
/// A finished file is current only for the requester that downloaded it: another requester downloads it again, even if
/// the server confirms it with a 304 response. The reason is that a weak entity tag or a date may also match another
/// user's file, and so may the strong tag of a server that violates RFC 9110 (sections 8.8.1 and 13.2.1). Receiving
/// another user's bytes is worse than a second download.
///
/// With ``DownloadRequest/RefetchPolicy/ifChanged``, a matching entity tag is enough if neither requester is anonymous.
///
/// A requester consists of what the caller supplies, not of what a server adds:
/// - The user of a login counts, but not the password: the server checks the password, and a saved hash could be used
///   to guess it.
/// - Cookies from the caller's files count, even expired ones, but not cookies set by servers.
/// - A token counts as a whole, so a new token is another requester.
struct Requester: Sendable, Hashable {
    /// One string for each login, token, cookie or certificate that identifies the sender.
    private let marks: Set<String>

    /// Whether the caller supplied nothing that identifies the sender.
    var isAnonymous: Bool { marks.isEmpty }

    /// Creates the requester that a manager presents to a source and, after redirects, to the URL that responded.
    ///
    /// Hosts that only redirect do not count, since later requests may skip them.
    /// - Parameters:
    ///   - request: The request of the download.
    ///   - source: The requested URL or mirror.
    ///   - head: The response; `nil` before it arrives, when it is unknown whether the server will request a login.
    ///   - configuration: The manager's settings.
    init(
        _ request: borrowing DownloadRequest,
        at source: URL,
        _ head: ResponseHead?,
        _ configuration: borrowing DownloadConfiguration
    ) {
        var fields = request.headers.filter(\.identifiesRequester)
        if !fields.isEmpty, Origin(source) != Origin(request.url) { fields.removeAll(where: \.isBoundToOrigin) }
        var marks = Set(fields.map(Self.mark))
        if let login = source.login { marks.insert(Self.mark(user: login.user)) }
        let hasLogin = source.login != nil || fields.contains(where: \.isAuthorization)
        // A closure, as on the right of `||`, cannot capture the borrowed configuration on Apple platforms.
        let (netrc, jar) = (configuration.netrc, configuration.cookies)
        let hasFiles = netrc != nil || jar != nil
        for url in hasFiles ? [source, head?.url ?? source] : [] {
            let usesNetrc = !hasLogin || Origin(url) != Origin(source)
            if usesNetrc, let login = netrc?.login(for: url) { marks.insert(Self.mark(user: login.user)) }
            if let cookies = jar?.given(for: url) { marks.insert("cookie: \(cookies)") }
        }
        if let login = head?.login { marks.insert(Self.mark(login.field)) }
        if let certificate = configuration.clientCertificate {
            marks.insert("certificate: \(certificate.file.filePath)")
        }
        self.marks = marks
    }

    private static func mark(user: String) -> String { "user: \(user)" }

    private static func mark(_ field: HeaderField) -> String {
        if field.isAuthorization, let login = field.basicLogin { return mark(user: login.user) }
        return "\(field.name.lowercased()): \(field.value)"
    }

    /// Returns the SHA-256 of a salt and the marks, truncated to 16 digits; `nil` if the system cannot compute it.
    fileprivate func hash(salt: String) -> String? {
        guard let digester = try? Digester(.sha256) else { return nil }
        // Each text is preceded by its length, so that different sets of texts never result in the same bytes.
        for text in [salt] + marks.sorted() {
            Array("\(text.utf8.count):\(text)".utf8).withUnsafeBytes { digester.update($0) }
        }
        return (try? digester.finalize()).map { String($0.hexadecimal.prefix(RequesterFingerprint.length)) }
    }
}

extension RequesterFingerprint {
    /// Hashes a requester with a salt; returns `nil` if the system cannot compute SHA-256.
    init?(_ requester: Requester, salt: UInt64 = .random(in: 0...UInt64.max)) {
        let salt = salt.hexadecimal
        guard let hash = requester.hash(salt: salt) else { return nil }
        self.init(salt: salt, hash: hash)
    }

    func matches(_ requester: Requester) -> Bool { hash == requester.hash(salt: salt) }
}
