import Headrace
import HeadracePlatform

struct GetOptions: Sendable {
    let arguments: ParsedArguments
    var configuration = DownloadConfiguration()
    var conflictPolicy = DownloadRequest.ConflictPolicy.rename
    /// When to download an existing file again; by default, unless the file is up to date.
    var refetchPolicy = DownloadRequest.RefetchPolicy.unlessCurrent
    var mismatchPolicy = DownloadRequest.MismatchPolicy.keep
    var networkPolicy = DownloadRequest.NetworkPolicy.any
    var headers: [HeaderField] = []
    private var method: String?
    private var body: DownloadRequest.Body?
    var mirrors: [URL] = []
    private(set) var checksums: [Checksum]
    var output: String?
    private(set) var copiesToOutput = false
    /// Whether the file is only written to standard output, and not saved.
    private(set) var isTemporary = false
    var directory = "."
    var inputFile: String?
    var metalinks: [String] = []
    var rejectedFiles: [String] = []
    /// Whether to write the first line of the JSON output; `false` if it has already been written.
    var writesJSONHead = true
    var verbosity = Verbosity.normal
    var writesJSON = false
    var hooks: Hooks
    var urls: [String]
    /// The sections of the configuration file, each with options for requests to one host or to all hosts; later ones
    /// override earlier ones.
    var hosts: [HostOptions]

    enum Verbosity: Sendable, Equatable {
        case quiet
        case normal
        case verbose
    }

    init(_ arguments: ParsedArguments) throws {
        self.arguments = arguments
        urls = arguments.operands
        hosts = try arguments.sections.map { try HostOptions($0) }
        checksums = try arguments.all(.checksum).map { try Argument.checksum($0) }
        hooks = try Hooks(arguments)
        configuration.linkProvider = try arguments.value(.linkCommand, as: Hooks.words).map(Hooks.linkProvider)
        try readPlaces(arguments)
        try readLimits(arguments)
        try readRequestOptions(arguments)
        try readNetworkOptions(arguments)
        if arguments.has(.verbose) { verbosity = .verbose }
        if arguments.has(.quiet) { verbosity = .quiet }
        // `--json` from the configuration file has no effect if the file itself is written to standard output.
        writesJSON = arguments.has(.json) && !copiesToOutput
        configuration.collectsMetrics = writesJSON && verbosity == .verbose
    }

    private mutating func readPlaces(_ arguments: ParsedArguments) throws {
        inputFile = arguments.value(.inputFile)
        metalinks = arguments.all(.metalink)
        directory = arguments.value(.directory) ?? directory
        isTemporary = arguments.value(.output) == "-"
        if let path = arguments.value(.partialsDir), !isTemporary {
            guard !path.isEmpty else { throw UsageError("--partials-dir: the path is empty") }
            configuration.partialsDirectory = URL(givenPath: path, .isDirectory)
        }
        copiesToOutput = isTemporary || arguments.has(.tee)
        let others: [Option] =
            [.json, .dryRun, .followMetalink] + (isTemporary ? [.tee, .directory, .onMismatch] : [])
        if copiesToOutput, let other = others.first(where: arguments.given.contains) {
            throw UsageError(other, "it cannot be combined with \(isTemporary ? "--output -" : "--tee")")
        }
        output = isTemporary ? nil : arguments.value(.output)
        guard !directory.isEmpty else { throw UsageError("--directory: the path is empty") }
        guard let output else { return }
        guard !output.isEmpty else { throw UsageError("--output: the name is empty") }
        guard !["", ".", ".."].contains(output.split(separator: "/", omittingEmptySubsequences: false).last) else {
            throw UsageError("--output: \(output) is a directory; use --directory instead")
        }
    }

    private mutating func readLimits(_ arguments: ParsedArguments) throws {
        configuration.maxConcurrentDownloads = try arguments.value(.jobs, as: Argument.jobs) ?? .automatic
        if let count = try arguments.value(.connections, as: Argument.count) {
            configuration.maxConnectionsPerDownload = count
            configuration.maxConnectionsPerHost = max(configuration.maxConnectionsPerHost, count)
        }
        configuration.maxConcurrentDownloadsPerHost = try arguments.value(.limitPerHost, as: Argument.count)
        // A single word is a rate, not a schedule.
        if arguments.value(.limitRate)?.contains(where: { $0 == " " || $0 == "," }) == true {
            configuration.rateSchedule = try arguments.value(.limitRate, as: Argument.schedule)
        } else {
            configuration.rateLimit = try arguments.value(.limitRate, as: Argument.rate) ?? nil
        }
        configuration.minimumSpeed = try arguments.value(.minSpeed, as: Argument.rate) ?? nil
        configuration.timeLimit = try arguments.value(.timeLimit, as: Argument.seconds)
        if let time = try arguments.value(.timeout, as: Argument.seconds) { configuration.stallTimeout = time }
        if let time = try arguments.value(.connectTimeout, as: Argument.seconds) { configuration.connectTimeout = time }
        if let count = try arguments.value(.retries, as: Argument.count) {
            configuration.retryPolicy.maxFailures = count
        } else {
            // Fail soon after a mistyped host name: the user is waiting.
            configuration.retryPolicy.maxUnreachableFailures = 1
        }
    }

    private mutating func readRequestOptions(_ arguments: ParsedArguments) throws {
        headers = try arguments.all(.header).map { try Argument.header($0) }
        headers += try arguments.all(.headerEverywhere).map { try Argument.header($0, of: .headerEverywhere) }
        if let url = arguments.value(.referer) { headers.append(HeaderField(name: "Referer", value: url)) }
        try readBody(arguments)
        mirrors = try arguments.all(.mirror).map { try Argument.url($0, at: "--mirror: ") }
        if let policy: DownloadRequest.ConflictPolicy = try arguments.choice(.ifExists) {
            conflictPolicy = policy
            refetchPolicy = .always
        }
        mismatchPolicy = try arguments.choice(.onMismatch) ?? .keep
        networkPolicy = try arguments.choice(.network) ?? .any
        if arguments.has(.ifChanged) {
            guard arguments.value(.ifExists) ?? "overwrite" == "overwrite" else {
                throw UsageError("--if-changed: it replaces the file, so --if-exists can only be overwrite")
            }
            refetchPolicy = .ifChanged
        }
        // Like other tools, do not wait for a network unless --wait-for-network is given.
        configuration.waitsForConnectivity = arguments.has(.waitForNetwork)
        configuration.setsRemoteTime = !arguments.has(.noRemoteTime)
        configuration.resumesPartialDownloads = !arguments.has(.noResume)
        // Like other tools, do not flush to disk unless --sync is given.
        configuration.durability = arguments.has(.sync) ? .full : .none
        configuration.allowsInsecureRedirects = arguments.has(.allowDowngrade)
        if let count = try arguments.value(.maxRedirects, as: Argument.count) {
            configuration.maxRedirects = count
        }
    }

    private mutating func readBody(_ arguments: ParsedArguments) throws {
        if let path = arguments.value(.dataFile) {
            guard Files.status(path)?.kind == .regular else {
                throw UsageError("--data-file: \(path) is not a regular file")
            }
            body = .file(URL(givenPath: path, .notDirectory))
        }
        if let text = arguments.value(.data) {
            guard body == nil else { throw UsageError("--data: it cannot be combined with --data-file") }
            guard !text.hasPrefix("@") else {
                throw UsageError("--data: to send the bytes of a file, write --data-file \(text.dropFirst())")
            }
            body = .data(Data(text.utf8))
        }
        method = arguments.value(.method) ?? body.map { _ in "POST" }
        guard let method, method != "GET" else { return }
        // The argument looks like a body: the user may have meant curl's -d.
        if body == nil, directory.contains("=") || directory.hasPrefix("{") || directory.hasPrefix("@") {
            throw UsageError("--directory: -d is the directory; to send a body, write --data TEXT")
        } else if method == "HEAD" || arguments.has(.dryRun) {
            throw UsageError("--method: \(method) has no effect on files; --dry-run sends GET")
        }
        let repeating = [Option.linkCommand, .mirror].first(where: arguments.has)
        if let repeating, !arguments.given.contains(.retries) {
            throw UsageError(repeating, "a request with --data or --method may be sent again only with get --retries N")
        }
    }
}

extension GetOptions {
    /// Returns requests for the URLs in the arguments, the entries of URL lists and the files of Metalink documents.
    ///
    /// Throws if there are none, or if a request or its combination with an option is invalid.
    func requests(
        listed: [URLList.Entry] = [],
        files: [Metalink.File] = [],
        checksums list: ChecksumList? = nil
    ) throws -> [DownloadRequest] {
        let all = urls.map { URLList.Entry(url: $0) } + listed
        guard !all.isEmpty || !files.isEmpty else { throw UsageError("no URL given") }
        let count = all.count + files.count
        let isMany = all.count != 1 || !files.isEmpty
        let problems = [
            (isMany && output != nil, "output: it names", "; use --directory instead"),
            (copiesToOutput && count > 1, "\(isTemporary ? "output -" : "tee"): it writes", ""),
            (isMany && !mirrors.isEmpty, "mirror: it applies to", ""),
            (isMany && !checksums.isEmpty, "checksum: it applies to", "; use --checksum-file instead"),
        ]
        if let (_, problem, advice) = problems.first(where: \.0) {
            let given = count == 1 ? "a Metalink document was" : "\(count) were"
            throw UsageError("--\(problem) one file, but \(given) given\(advice)")
        }
        let folder = URL(givenPath: directory, .isDirectory)
        let (output, isDowngradeAllowed) = (output, configuration.allowsInsecureRedirects)
        var requests: [DownloadRequest] = []
        requests.reserveCapacity(count)
        for entry in all {
            let url = try Argument.url(entry.url, at: entry.origin)
            var request = DownloadRequest(url, to: try destination(of: entry, in: folder))
            request.mirrors = mirrors
            for mirror in entry.mirrors { request.mirrors.append(try Argument.url(mirror, at: entry.origin)) }
            request.headers = entry.headers
            // A URL without a scheme is tried as https first, then as http if that is allowed.
            if isDowngradeAllowed, Argument.beginsWithHost(entry.url) {
                request.mirrors += URL(encoding: "http://\(entry.url)").map { [$0] } ?? []
            }
            // Computed here, because an autoclosure would copy all options.
            let names = list == nil ? [] : listedNames(of: url, entry.output ?? output)
            request.checksums = try entry.checksums + checksums(forFileNamed: names, in: list)
            try complete(&request, at: entry.origin)
            requests.append(request)
        }
        for file in files { requests.append(try request(for: file, list)) }
        return requests
    }

    /// Returns the options for the files that downloaded Metalink documents describe.
    ///
    /// These files may come from other servers than the documents. So the options omit what is meant for the documents
    /// or their servers: secrets, method, body and checksums.
    func following(_ documents: [String]) -> GetOptions {
        var options = self
        (options.urls, options.metalinks) = ([], documents)
        (options.inputFile, options.output, options.mirrors) = (nil, nil, [])
        options.checksums = []
        (options.method, options.body) = (nil, nil)
        options.removeFields(where: \.isBoundToOrigin)
        options.writesJSONHead = false
        return options
    }

    /// Applies the options for all files to a request; throws if the request is invalid.
    ///
    /// The error message starts with `origin`.
    func complete(_ request: inout DownloadRequest, at origin: @autoclosure () -> String = "") throws {
        request.conflictPolicy = conflictPolicy
        if !headers.isEmpty { request.headers = headers + request.headers }
        request.refetchPolicy = refetchPolicy
        request.mismatchPolicy = mismatchPolicy
        request.networkPolicy = networkPolicy
        if let method { request.method = method }
        if let body {
            request.body = body
            if request.headers["Content-Type"] == nil {
                // As curl and wget do.
                request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            }
        }
        request.decodesContent = arguments.has(.compressed)
        if request.method != "GET" { request.isRepeatable = arguments.given.contains(.retries) }
        applyHosts(to: &request)
        if isTemporary { request.mismatchPolicy = .delete }
        do {
            // Checked before anything is created on disk.
            try request.validate()
        } catch {
            throw UsageError(origin() + error.message)
        }
    }

    private func listedNames(of url: URL, _ output: String?) -> [String] {
        let path = String(Substring(url.plainPath.utf8.drop { $0 == UInt8(ascii: "/") }))
        // For a path that is not UTF-8, only the last component is usable.
        return [path, url.lastName, output ?? ""].filter { !$0.isEmpty }
    }

    private func request(for file: Metalink.File, _ list: ChecksumList?) throws -> DownloadRequest {
        let folder = URL(givenPath: directory, .isDirectory)
        // Files without a usable source were rejected when the document was read.
        guard var request = file.request(to: folder) else { throw UsageError(Self.rejection(of: file)) }
        // Differing checksums of the same algorithm are all added, so that the check below rejects them.
        let given = request.checksums
        request.checksums += try checksums(forFileNamed: [file.name], in: list).filter { !given.contains($0) }
        try complete(&request, at: "--metalink: \(file.name): ")
        return request
    }

    /// Returns the file that the list entry names, or else the file of `--output`, or else the directory to save in.
    ///
    /// Relative paths start at `folder`, the folder of `--directory`. Throws if the name in a list leads out of its
    /// directory.
    private func destination(of entry: URLList.Entry, in folder: URL) throws -> DownloadRequest.Destination {
        let folder = entry.directory.map { URL(givenPath: $0, .isDirectory, from: folder) } ?? folder
        guard let output = entry.output != nil ? entry.output : output else { return .directory(folder) }
        // A list may come from elsewhere; unlike that of an option, its name must not lead out of the directory.
        guard entry.output == nil || Self.isInside(output) else {
            throw UsageError("\(entry.origin)\"\(output.printable)\" is not the name of a file in the directory")
        }
        return .file(URL(givenPath: output, .notDirectory, from: folder))
    }

    private static func isInside(_ name: String) -> Bool {
        // As bytes, because a slash and a combining mark after it are one character.
        let slash = UInt8(ascii: "/")
        let components = name.utf8.split(separator: slash, omittingEmptySubsequences: false)
        guard let first = components.first, let last = components.last else { return false }
        return !first.isEmpty && !last.isEmpty && !last.elementsEqual(".".utf8) && !name.utf8.contains(0)
            && !components.contains { $0.elementsEqual("..".utf8) }
    }
}

extension URLList.Entry {
    /// The start of a message about this URL; empty for a URL from the command line.
    var origin: String { list.map { "--input-file: \($0): line \(line): " } ?? "" }
}
