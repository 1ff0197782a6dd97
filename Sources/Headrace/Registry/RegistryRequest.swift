import HeadracePlatform

/// A download request as it is saved: without its secrets, but with the names of the omitted header fields.
struct RegistryRequest: Sendable, Hashable {
    /// The destination of the finished file.
    enum Destination: Sendable, Hashable {
        /// A file with this path.
        case file(RelocatablePath)
        /// A file in this directory.
        case directory(RelocatablePath)
    }

    /// The URL to download, without user and password.
    private(set) var url: String
    /// The caller's key for the download, which stays the same if the URL changes; `nil` if the URL is the key.
    var identity: String?
    /// Alternative URLs of the file; those with a user or a password are not saved.
    var mirrors: [String] = []
    /// Whether the requested URL had a user or password; neither is saved.
    private(set) var withholdsUser: Bool
    /// The destination of the finished file.
    let destination: Destination
    /// The policy if a file with the name of the finished file already exists.
    var conflictPolicy: DownloadRequest.ConflictPolicy
    /// The header fields that are not secret, in order.
    private(set) var headers: [HeaderField] = []
    /// The names of the header fields whose values are not saved.
    private(set) var withheldHeaders: [String] = []
    /// The content of a request whose method is not GET.
    enum Body: Sendable, Hashable {
        case data([UInt8])
        case file(RelocatablePath)
    }

    var method = "GET"
    var body: Body?
    var isRepeatable = false
    var decodesContent = false
    var requiresPublicAddress = false
    /// The condition for resuming from a partial file.
    var resumePolicy: DownloadRequest.ResumePolicy
    /// The expected properties of the file; piece hashes are only written if an entry has room for them.
    var expectations = FileExpectations()
    /// The policy for a file with a wrong checksum.
    var mismatchPolicy = DownloadRequest.MismatchPolicy.keep
    /// The condition for downloading a file that exists already.
    var refetchPolicy = DownloadRequest.RefetchPolicy.always
    /// The group of the download; `nil` if it is in none.
    var group: String?
    /// The rate limit in bytes per second; `nil` if unlimited.
    var rateLimit: Int64?
    /// The time-outs in milliseconds; `nil` for those of the manager.
    var connectTimeout: Int64?
    var stallTimeout: Int64?
    var maxRetries: Int?
    /// The display title.
    var title: String?
    /// The caller's own keys and values, which the registry stores unchanged.
    var userInfo: [String: String] = [:]
    /// A value of the caller's own, stored unchanged; `nil` if there is none.
    var userData: [UInt8]?
    /// The priority; higher is more urgent.
    var priority = 0
    /// The earliest start time, in milliseconds since 1970; `nil` if the download may start at once.
    var earliestBegin: Int64?
    /// Whether the download is added as paused.
    var startsPaused = false
    /// The networks on which the download may run.
    var networkPolicy = DownloadRequest.NetworkPolicy.any

    /// Whether secret header fields, or the URL's user and password, were not saved; the download cannot start without
    /// them.
    var lacksSecrets: Bool { withholdsUser || !withheldHeaders.isEmpty }

    /// Creates a request without its secrets.
    /// - Parameters:
    ///   - url: The URL to download; its user and password are dropped.
    ///   - destination: The destination of the finished file.
    ///   - conflictPolicy: The policy if a file with the name of the finished file already exists.
    ///   - headers: Header fields; the values of secret ones are dropped.
    ///   - resumePolicy: The condition for resuming from a partial file.
    init(
        url: String,
        destination: Destination,
        conflictPolicy: DownloadRequest.ConflictPolicy = .rename,
        headers: [HeaderField] = [],
        resumePolicy: DownloadRequest.ResumePolicy = .validated
    ) {
        self.url = url.withoutUserInfo
        withholdsUser = self.url.utf8.count < url.utf8.count
        self.destination = destination
        self.conflictPolicy = conflictPolicy
        self.resumePolicy = resumePolicy
        keep(headers)
    }

    /// Adds header fields; only the name of a secret field is stored, not its value.
    mutating func keep(_ fields: [HeaderField]) {
        for field in fields {
            if field.isCredential { withheldHeaders.append(field.name) } else { headers.append(field.withoutUserInfo) }
        }
    }

    /// Adopts the URL and the identity of a request.
    ///
    /// Secret header fields are meant for the origin of the old URL. If the new URL has another origin, their names are
    /// dropped, so that the download can start without them.
    mutating func relink(as request: DownloadRequest) {
        let text = request.url.absoluteURL.absoluteString
        let hasMoved = URL(string: url).map { Origin($0) != Origin(request.url) } ?? true
        url = text.withoutUserInfo
        withholdsUser = url.utf8.count < text.utf8.count
        identity = request.identity
        if hasMoved { withheldHeaders = [] }
    }

    mutating func withhold(_ names: [String]) {
        withheldHeaders += names
    }

    mutating func withholdUser() {
        withholdsUser = true
    }
}

extension RegistryRequest {
    /// Creates the form of a request in which it is saved: without its secrets, and with paths relative to the bases.
    init(_ request: DownloadRequest, bases: RegistryBaseDirectories) {
        let destination: Destination =
            switch request.destination {
            case .file(let url): .file(RelocatablePath(url.filePath, bases: bases))
            case .directory(let url): .directory(RelocatablePath(url.filePath, bases: bases))
            }
        self.init(
            url: request.url.absoluteURL.absoluteString,
            destination: destination,
            conflictPolicy: request.conflictPolicy,
            headers: request.headers,
            resumePolicy: request.resumePolicy
        )
        identity = request.identity
        method = request.method
        isRepeatable = request.isRepeatable
        requiresPublicAddress = request.requiresPublicAddress
        decodesContent = request.decodesContent
        switch request.body {
        case .file(let file): body = .file(RelocatablePath(file.filePath, bases: bases))
        case .data(let data, _): body = .data(Array(data))
        case nil: break
        }
        mirrors = request.mirrors.map(\.absoluteURL.absoluteString).filter { $0.withoutUserInfo == $0 }
        expectations = request.expectations
        mismatchPolicy = request.mismatchPolicy
        refetchPolicy = request.refetchPolicy
        group = request.group
        rateLimit = request.rateLimit
        connectTimeout = request.connectTimeout?.wholeMilliseconds
        stallTimeout = request.stallTimeout?.wholeMilliseconds
        maxRetries = request.maxRetries
        title = request.title
        userInfo = request.userInfo
        userData = request.userData.map { Array($0) }
        priority = request.priority.rawValue
        earliestBegin = request.earliestBegin.map(Self.milliseconds)
        startsPaused = request.startsPaused
        networkPolicy = request.networkPolicy
    }

    /// Returns the request without its secrets; `nil` if its URL is invalid or the base of one of its paths is unknown.
    func downloadRequest(in bases: RegistryBaseDirectories) -> DownloadRequest? {
        guard let url = URL(string: url), let path = destination.path.resolved(in: bases) else { return nil }
        let place: DownloadRequest.Destination =
            switch destination {
            case .file: .file(URL(filePath: path, directoryHint: .notDirectory))
            case .directory: .directory(URL(filePath: path, directoryHint: .isDirectory))
            }
        var request = DownloadRequest(
            url,
            to: place,
            conflictPolicy: conflictPolicy,
            headers: headers,
            resumePolicy: resumePolicy
        )
        request.identity = identity
        request.method = method
        request.isRepeatable = isRepeatable
        request.requiresPublicAddress = requiresPublicAddress
        request.decodesContent = decodesContent
        switch body {
        case .data(let bytes): request.body = .data(Data(bytes))
        case .file(let path):
            guard let path = path.resolved(in: bases) else { return nil }
            request.body = .file(URL(filePath: path, directoryHint: .notDirectory))
        case nil: break
        }
        request.mirrors = mirrors.compactMap { URL(string: $0) }
        request.expectations = expectations
        request.mismatchPolicy = mismatchPolicy
        request.refetchPolicy = refetchPolicy
        request.group = group
        request.rateLimit = rateLimit
        request.connectTimeout = connectTimeout.map { .milliseconds($0) }
        request.stallTimeout = stallTimeout.map { .milliseconds($0) }
        request.maxRetries = maxRetries
        request.title = title
        request.userInfo = userInfo
        request.userData = userData.map { Data($0) }
        request.priority = DownloadPriority(rawValue: priority)
        request.earliestBegin = earliestBegin.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        request.startsPaused = startsPaused
        request.networkPolicy = networkPolicy
        return request
    }

    /// Returns a time in milliseconds since 1970; a time that is out of range is clamped.
    private static func milliseconds(of time: Date) -> Int64 {
        let milliseconds = (time.timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min)
    }
}

extension DownloadRequest {
    /// Returns whether the texts and data of the request, without its paths, have more than `maxBytes` bytes in total.
    func isLong(maxBytes: Int) -> Bool {
        var bytes = url.absoluteString.utf8.count
        for text in [identity, group, title] { bytes += text?.utf8.count ?? 0 }
        if case .data(let data, _) = body { bytes += data.count }
        bytes += userData?.count ?? 0
        if checksums.isEmpty { bytes += pieceHashes?.digests.count ?? 0 }
        for checksum in checksums { bytes += checksum.description.utf8.count }
        for mirror in mirrors { bytes += mirror.absoluteString.utf8.count }
        for field in headers { bytes += field.name.utf8.count + field.value.utf8.count }
        for (key, value) in userInfo { bytes += key.utf8.count + value.utf8.count }
        return bytes > maxBytes
    }
}

extension RegistryRequest.Destination {
    var path: RelocatablePath {
        switch self {
        case .file(let path), .directory(let path): path
        }
    }
}

extension HeaderField {
    /// The field; if it is a `Referer`, without the user and password of its URL (RFC 9110, section 10.1.3).
    fileprivate var withoutUserInfo: HeaderField {
        guard name.lowercased() == "referer" else { return self }
        return HeaderField(name: name, value: value.withoutUserInfo)
    }
}

extension RegistryRequest {
    /// The names of the header fields that were not saved because they are secret, and "user and password" if the URL
    /// had them.
    var withheldNames: [String] {
        withheldHeaders + (withholdsUser ? ["user and password"] : [])
    }
}
