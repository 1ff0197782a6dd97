import Headrace
import HeadracePlatform

/// The options of `get`, converted and checked.
struct GetOptions: Sendable {
    var configuration = DownloadConfiguration()
    var conflictPolicy = DownloadRequest.ConflictPolicy.rename
    /// When to download an existing file again; by default, unless the file is up to date.
    var refetchPolicy = DownloadRequest.RefetchPolicy.unlessCurrent
    var mismatchPolicy = DownloadRequest.MismatchPolicy.keep
    var networkPolicy = DownloadRequest.NetworkPolicy.any
    var headers: [HeaderField] = []
    var mirrors: [URL] = []
    let integrity: ChecksumOptions
    var output: String?
    var directory = "."
    var inputFile: String?
    /// Paths of Metalink documents.
    var metalinks: [String] = []
    /// Messages about files of the Metalink documents that cannot be downloaded or verified.
    var rejectedFiles: [String] = []
    /// Whether to write the first line of the JSON output; `false` if it has already been written.
    var writesJSONHead = true
    var network = NetworkFiles()
    var verbosity = Verbosity.normal
    var writesJSON = false
    /// The `--registry` option to add to a suggested queue command; empty for the default queue.
    let queueWords: String
    var urls: [String]

    /// How much the tool prints besides errors.
    enum Verbosity: Sendable, Equatable {
        case quiet
        case normal
        case verbose
    }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        urls = arguments.operands
        integrity = try ChecksumOptions(arguments)
        queueWords = arguments.queueWords
        try readPlaces(arguments)
        try readLimits(arguments)
        try readRequestOptions(arguments)
        try readNetworkOptions(arguments)
        if arguments.has(.verbose) { verbosity = .verbose }
        if arguments.has(.quiet) { verbosity = .quiet }
        writesJSON = arguments.has(.json)
    }

    private mutating func readPlaces(_ arguments: ParsedArguments) throws(UsageError) {
        inputFile = arguments.value(.inputFile)
        metalinks = arguments.all(.metalink)
        if let value = arguments.value(.directory) {
            guard !value.isEmpty else { throw UsageError("--directory: the path is empty") }
            directory = value
        }
        if let value = arguments.value(.output) {
            guard !value.isEmpty else { throw UsageError("--output: the name is empty") }
            guard value != "-" else {
                throw UsageError("--output: a download cannot be written to standard output; give a file name")
            }
            guard !value.hasSuffix("/") else {
                throw UsageError("--output: \(value) is a directory; use --directory instead")
            }
            output = value
        }
    }

    private mutating func readLimits(_ arguments: ParsedArguments) throws(UsageError) {
        if let value = arguments.value(.jobs) {
            configuration.maxConcurrentDownloads = try ArgumentCheck.count(value, of: .jobs)
        }
        if let value = arguments.value(.connections) {
            let count = try ArgumentCheck.count(value, of: .connections)
            configuration.maxConnectionsPerDownload = count
            configuration.maxConnectionsPerHost = max(configuration.maxConnectionsPerHost, count)
        }
        if let value = arguments.value(.limitPerHost) {
            configuration.maxConcurrentDownloadsPerHost = try ArgumentCheck.count(value, of: .limitPerHost)
        }
        if let value = arguments.value(.limitRate) {
            // A single word is a rate, not a schedule.
            if value.contains(where: { $0 == " " || $0 == "," }) {
                configuration.rateSchedule = try ArgumentCheck.schedule(value, of: .limitRate)
            } else {
                configuration.rateLimit = try ArgumentCheck.rate(value, of: .limitRate)
            }
        }
        if let value = arguments.value(.timeout) {
            configuration.stallTimeout = try ArgumentCheck.seconds(value, of: .timeout)
        }
        if let value = arguments.value(.minSpeed) {
            configuration.minimumSpeed = try ArgumentCheck.rate(value, of: .minSpeed)
        }
        if let value = arguments.value(.timeLimit) {
            configuration.timeLimit = try ArgumentCheck.seconds(value, of: .timeLimit)
        }
        if let value = arguments.value(.retries) {
            configuration.retryPolicy.maxFailures = try ArgumentCheck.count(value, of: .retries, atLeast: 0)
        } else {
            // Fail soon after a mistyped host name: the user is waiting.
            configuration.retryPolicy.maxUnreachableFailures = 1
        }
        if let value = arguments.value(.connectTimeout) {
            configuration.connectTimeout = try ArgumentCheck.seconds(value, of: .connectTimeout)
        }
    }

    private mutating func readRequestOptions(_ arguments: ParsedArguments) throws(UsageError) {
        for value in arguments.all(.header) { headers.append(try ArgumentCheck.header(value)) }
        for value in arguments.all(.mirror) {
            guard let url = URL(string: value) else {
                throw UsageError("--mirror: \"\(value.withoutCredentials)\" is not a URL")
            }
            mirrors.append(url)
        }
        if let value = arguments.value(.ifExists) {
            guard let policy = DownloadRequest.ConflictPolicy(rawValue: value) else {
                throw UsageError("--if-exists: \"\(value)\" is not one of rename, overwrite, skip, fail")
            }
            conflictPolicy = policy
            refetchPolicy = .always
        }
        if let value = arguments.value(.onMismatch) {
            guard let policy = DownloadRequest.MismatchPolicy(rawValue: value) else {
                throw UsageError("--on-mismatch: \"\(value)\" is neither keep nor delete")
            }
            mismatchPolicy = policy
        }
        if let value = arguments.value(.network) {
            guard let policy = DownloadRequest.NetworkPolicy(word: value) else {
                let words = DownloadRequest.NetworkPolicy.allCases.map(\.word).joined(separator: ", ")
                throw UsageError("--network: \"\(value)\" is not one of \(words)")
            }
            networkPolicy = policy
        }
        if arguments.has(.ifChanged) {
            guard arguments.value(.ifExists) ?? "overwrite" == "overwrite" else {
                throw UsageError("--if-changed: it replaces the file, so --if-exists can only be overwrite")
            }
            refetchPolicy = .ifChanged
        }
        // Like other tools, fail at once if there is no network.
        configuration.waitsForConnectivity = arguments.has(.waitForNetwork)
        configuration.setsRemoteTime = !arguments.has(.noRemoteTime)
        configuration.resumesPartialDownloads = !arguments.has(.noResume)
        // Like other tools, do not flush to disk unless --sync is given.
        configuration.durability = arguments.has(.sync) ? .full : .none
        configuration.allowsInsecureRedirects = arguments.has(.allowDowngrade)
    }
}

extension GetOptions {
    /// Returns requests for the URLs in the arguments, the entries of URL lists and the files of Metalink documents.
    ///
    /// Throws if there are none, or if a request or its combination with an option is invalid.
    func requests(
        listed: [URLList.Entry] = [],
        files: [Metalink.File] = [],
        checksums: ChecksumList? = nil
    ) throws(UsageError) -> [DownloadRequest] {
        let all = urls.map { URLList.Entry(url: $0) } + listed
        guard !all.isEmpty || !files.isEmpty else { throw UsageError("no URL given") }
        let count = all.count + files.count
        guard output == nil || (all.count == 1 && files.isEmpty) else {
            throw UsageError("--output: it names one file, but \(count) were given; use --directory instead")
        }
        guard mirrors.isEmpty || all.count == 1 && files.isEmpty else {
            throw UsageError("--mirror: it applies to one file, but \(count) were given")
        }
        guard integrity.checksums.isEmpty || all.count == 1 && files.isEmpty else {
            throw UsageError("--checksum: it applies to one file, but \(count) were given; use --checksum-file instead")
        }
        let destination = destination
        let requests = try all.map { entry throws(UsageError) in
            let url = try ArgumentCheck.url(entry.url, at: entry.origin)
            var request = DownloadRequest(url, to: destination, conflictPolicy: conflictPolicy, headers: headers)
            request.mirrors = mirrors
            request.checksums = try integrity.checksums(forFileNamed: listedNames(of: url), in: checksums)
            request.refetchPolicy = refetchPolicy
            request.mismatchPolicy = mismatchPolicy
            request.networkPolicy = networkPolicy
            try request.check(at: entry.origin)
            return request
        }
        return try requests + files.map { file throws(UsageError) in try request(for: file, checksums) }
    }

    /// Returns the names under which a checksum file may list the file at this URL.
    private func listedNames(of url: URL) -> [String] {
        let path = String(Substring(url.plainPath.utf8.drop { $0 == UInt8(ascii: "/") }))
        // For a path that is not UTF-8, only the last component is usable.
        return [path, url.lastName, output ?? ""].filter { !$0.isEmpty }
    }

    private func request(for file: Metalink.File, _ list: ChecksumList?) throws(UsageError) -> DownloadRequest {
        let folder = URL(givenPath: directory, .isDirectory)
        // Files without a usable source were rejected when the document was read.
        guard var request = file.request(to: folder) else { throw UsageError(Self.rejection(of: file)) }
        // Differing checksums of the same algorithm are all added, so that the check below rejects them.
        let given = request.checksums
        request.checksums += try integrity.checksums(forFileNamed: [file.name], in: list).filter { !given.contains($0) }
        request.conflictPolicy = conflictPolicy
        request.headers = headers
        request.refetchPolicy = refetchPolicy
        request.mismatchPolicy = mismatchPolicy
        request.networkPolicy = networkPolicy
        try request.check(at: "--metalink: \(file.name): ")
        return request
    }

    /// The destination according to `--output`, whose path is relative to `--directory`.
    private var destination: DownloadRequest.Destination {
        let folder = URL(givenPath: directory, .isDirectory)
        guard let output else { return .directory(folder) }
        return .file(URL(givenPath: output, .notDirectory, from: folder))
    }
}
