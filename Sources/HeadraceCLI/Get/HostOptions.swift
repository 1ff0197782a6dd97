import Headrace
import HeadracePlatform

/// The options of requests in one section of the configuration file.
struct HostOptions: Sendable {
    private let host: String?
    private let options: GetOptions
    private(set) var headers: [HeaderField]

    init(_ section: ConfigurationFile.Section) throws {
        let arguments = ParsedArguments(section)
        do {
            options = try GetOptions(arguments)
        } catch let error as UsageError {
            throw arguments.located(error)
        }
        host = section.host
        headers = options.headers
        let login = arguments.value(.user)?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if let login { headers.append(Credential.login(user: String(login[0]), password: String(login[1])).field) }
    }

    mutating func removeSecrets() { headers.removeAll(where: \.isCredential) }

    /// Applies the options, except those in `set`, to a request for the host or a subdomain.
    ///
    /// Adds the applied options to `set`, because earlier sections must not override them.
    func apply(to request: inout DownloadRequest, unless set: inout Set<Option>) {
        guard host.map({ (request.url.host() ?? "").lowercased().isIn(domain: $0) }) ?? true else { return }
        let new = options.given.subtracting(set)
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
