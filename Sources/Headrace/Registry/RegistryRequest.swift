import HeadracePlatform

/// What a list of downloads keeps of a request: all but its secrets, and which of those it lacks.
struct RegistryRequest: Sendable, Hashable {
    /// The place of the finished file.
    enum Destination: Sendable, Hashable {
        /// A file of this path.
        case file(RelocatablePath)
        /// A file in this directory.
        case directory(RelocatablePath)
    }

    /// The address to fetch, without user and password.
    let url: String
    /// Other addresses of the file; those with a user or a password are not kept.
    var mirrors: [String] = []
    /// Whether the URL had a user or a password, which is not kept.
    private(set) var withholdsUser: Bool
    /// The place of the finished file.
    let destination: Destination
    /// What happens when a file of that name exists already.
    var conflictPolicy: DownloadRequest.ConflictPolicy
    /// The header fields that are not secret, in order.
    private(set) var headers: [HeaderField] = []
    /// The names of the header fields whose values are not kept.
    private(set) var withheldHeaders: [String] = []
    /// What it takes to go on with bytes that are held.
    var resumePolicy: DownloadRequest.ResumePolicy
    /// What the file has to be; of pieces no more is written than an entry has room for.
    var expectations = FileExpectations()
    /// What happens with a file that is not what its checksum says.
    var mismatchPolicy = DownloadRequest.MismatchPolicy.keep
    /// Whether a file that is there already is fetched again.
    var refetchPolicy = DownloadRequest.RefetchPolicy.always
    /// What the download belongs to.
    var group: String?
    /// The most bytes per second of the download.
    var rateLimit: Int64?
    /// What the download is called.
    var title: String?
    /// The caller's own notes, which are kept as they are.
    var userInfo: [String: String] = [:]
    /// How urgent the download is.
    var priority = 0
    /// The time before which the download does not begin, in milliseconds since 1970.
    var earliestBegin: Int64?
    /// Whether the download waits to be resumed from the start.
    var startsPaused = false
    /// On which networks the download may run.
    var networkPolicy = DownloadRequest.NetworkPolicy.any

    /// Whether a secret is missing that the request was made with.
    var lacksSecrets: Bool { withholdsUser || !withheldHeaders.isEmpty }

    /// Takes what may be kept.
    /// - Parameters:
    ///   - url: The address to fetch; its user and password are dropped.
    ///   - destination: The place of the finished file.
    ///   - conflictPolicy: What happens when a file of that name exists already.
    ///   - headers: Header fields, of which those that are secret are dropped.
    ///   - resumePolicy: What it takes to go on with bytes that are held.
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

    /// Adds header fields; of those that are secret the names alone.
    mutating func keep(_ fields: [HeaderField]) {
        for field in fields {
            if field.isCredential { withheldHeaders.append(field.name) } else { headers.append(field.withoutUserInfo) }
        }
    }

    mutating func withhold(_ names: [String]) {
        withheldHeaders += names
    }

    mutating func withholdUser() {
        withholdsUser = true
    }
}

extension RegistryRequest {
    /// Keeps what may be kept of a request, with its paths told from the bases.
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
        mirrors = request.mirrors.map(\.absoluteURL.absoluteString).filter { $0.withoutUserInfo == $0 }
        expectations = request.expectations
        mismatchPolicy = request.mismatchPolicy
        refetchPolicy = request.refetchPolicy
        group = request.group
        rateLimit = request.rateLimit
        title = request.title
        userInfo = request.userInfo
        priority = request.priority.rawValue
        earliestBegin = request.earliestBegin.map(Self.milliseconds)
        startsPaused = request.startsPaused
        networkPolicy = request.networkPolicy
    }

    /// The request without its secrets; nil where its URL is none or its base is not known here.
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
        request.mirrors = mirrors.compactMap { URL(string: $0) }
        request.expectations = expectations
        request.mismatchPolicy = mismatchPolicy
        request.refetchPolicy = refetchPolicy
        request.group = group
        request.rateLimit = rateLimit
        request.title = title
        request.userInfo = userInfo
        request.priority = DownloadPriority(rawValue: priority)
        request.earliestBegin = earliestBegin.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        request.startsPaused = startsPaused
        request.networkPolicy = networkPolicy
        return request
    }

    /// A time that is further away than can be told is as far as can be.
    private static func milliseconds(of time: Date) -> Int64 {
        let milliseconds = (time.timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min)
    }
}

extension DownloadRequest {
    /// Whether its texts, but for the destination, have more bytes than that together.
    func isLong(maxBytes: Int) -> Bool {
        var bytes = url.absoluteString.utf8.count + (group ?? "").utf8.count + (title ?? "").utf8.count
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
    /// A `Referer` has no user and password (RFC 9110, section 10.1.3); all other fields are as they were.
    fileprivate var withoutUserInfo: HeaderField {
        guard name.lowercased() == "referer" else { return self }
        return HeaderField(name: name, value: value.withoutUserInfo)
    }
}

extension RegistryRequest {
    /// The header fields that were not saved because they are secrets, and "user and password" for those of the URL.
    var withheldNames: [String] { withheldHeaders + (withholdsUser ? ["user and password"] : []) }
}
