import Headrace
import HeadracePlatform

/// The options of requests in one section of the configuration file.
struct HostOptions: Sendable {
    /// The host of the heading; `nil` for the options above the first heading, which apply to all hosts.
    let host: String?
    private let options: GetOptions
    /// The login for the host, whose `Authorization` field is one of ``headers``; `nil` if there is no login.
    let login: Credential?
    /// The token of the field `Authorization: Bearer TOKEN`; `nil` if ``headers`` have none.
    let token: Credential?
    var headers: [HeaderField]

    init(_ section: ConfigurationFile.Section) throws {
        let arguments = ParsedArguments(section)
        do {
            options = try GetOptions(arguments)
        } catch let error as UsageError {
            throw arguments.located(error)
        }
        host = section.host
        // A later field replaces earlier ones of the same name.
        headers = []
        for field in options.headers {
            headers[field.name] = nil
            headers.append(field)
        }
        login = arguments.value(.user).map(GetOptions.parts).map { .login(user: $0[0], password: $0[1]) }
        let words = headers["Authorization"]?.split(separator: " ", maxSplits: 1).map(String.init) ?? []
        token = words.count == 2 && words[0].lowercased() == "bearer" ? .bearer(token: words[1]) : nil
        guard let field = login?.field else { return }
        guard headers["Authorization"] == nil else {
            throw arguments.located(UsageError(.user, "header Authorization: ... was given too"))
        }
        headers.append(field)
    }

    /// Whether the options apply to the URL: it is of the host or a subdomain, or the options apply to all hosts.
    func isFor(_ url: URL) -> Bool { host.map { (url.host() ?? "").lowercased().isIn(domain: $0) } ?? true }

    /// Returns the names of the secret fields for the URL that `queue run` cannot supply.
    ///
    /// `queue run` supplies only logins and tokens, and only to the host of the heading itself, not to its subdomains.
    func unsuppliedSecrets(for url: URL) -> [String] {
        guard isFor(url) else { return [] }
        let isLoggedIn = (login ?? token) != nil && url.host()?.lowercased() == host
        return headers.filter(\.isCredential).map(\.name).filter { !isLoggedIn || $0.lowercased() != "authorization" }
    }

    /// Applies the options, except those in `set`, to a request; does nothing if ``isFor(_:)`` is `false` for its URL.
    ///
    /// Adds the applied options to `set`, because earlier sections must not override them.
    func apply(to request: inout DownloadRequest, unless set: inout Set<Option>) {
        guard isFor(request.url) else { return }
        let new = options.arguments.given.subtracting(set)
        if !new.isDisjoint(with: [.ifExists, .ifChanged]), set.isDisjoint(with: [.ifExists, .ifChanged]) {
            (request.conflictPolicy, request.refetchPolicy) = (options.conflictPolicy, options.refetchPolicy)
        }
        if new.contains(.onMismatch) { request.mismatchPolicy = options.mismatchPolicy }
        if new.contains(.network) { request.networkPolicy = options.networkPolicy }
        set.formUnion(new)
        let names = Set(request.headers.map { $0.name.lowercased() })
        request.headers += headers.filter { !names.contains($0.name.lowercased()) }
    }
}

extension GetOptions {
    /// Applies the options of the configuration file to a request.
    func applyHosts(to request: inout DownloadRequest) {
        guard !hosts.isEmpty else { return }
        var set = arguments.given
        for host in hosts.reversed() { host.apply(to: &request, unless: &set) }
    }

    /// Removes the header fields for all hosts for which `isRemoved` returns `true`.
    ///
    /// Keeps the fields below a heading with a host, because they apply only to that host's URLs.
    mutating func removeFields(where isRemoved: (HeaderField) -> Bool) {
        headers.removeAll(where: isRemoved)
        for index in hosts.indices where hosts[index].host == nil { hosts[index].headers.removeAll(where: isRemoved) }
    }

    /// Supplies the logins and tokens of the configuration file for downloads of a queue; `nil` if there are none.
    ///
    /// The queue itself does not store them. Only the host of the heading itself receives its login, and only for URLs
    /// of the queue: another server may redirect to any host, also over http.
    var hostCredentials: (@Sendable (CredentialRequest) async throws -> Credential?)? {
        let hosts = hosts.filter { $0.login != nil || $0.token != nil }
        guard !hosts.isEmpty else { return nil }
        return { request in
            let host = hosts.last { $0.host == request.url.host()?.lowercased() }
            guard request.refused == nil, !request.isRedirected, let host else { return nil }
            return request.schemes == [.bearer] ? host.token : host.login ?? host.token
        }
    }
}
