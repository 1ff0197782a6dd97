import Headrace
import HeadracePlatform

/// Runs `headrace get`: creates the requests, waits for the downloads, and returns the exit status.
func get(_ arguments: ParsedArguments) async throws -> ExitCode {
    var options = try GetOptions(arguments)
    let folder = FileManager.default.temporaryDirectory.appending(path: "headrace-\(UUID().uuidString)").plainPath
    if options.isTemporary { options.directory = folder }
    async let isLoaded: Void = DownloadConfiguration.loadTransport()
    // Read before signals are handled: a signal must end the process while it waits for a pipe.
    let requests = try await options.readRequests()
    await isLoaded
    guard options.isTemporary else { return try await get(requests, options) }
    return try await withTemporaryFolder(folder) { [options] in try await get(requests, options) }
}

private func get(_ requests: [DownloadRequest], _ options: GetOptions) async throws -> ExitCode {
    var options = options
    guard !options.arguments.has(.dryRun) else { return options.status(after: try await dryRun(requests, options)) }
    let (first, finished) = try await download(requests, options)
    var statuses = [first]
    let documents = options.followsMetalinks ? finished.filter(Metalink.isDocument) : []
    if !documents.isEmpty {
        options = options.following(documents)
        let requests = try options.requests(files: try options.readMetalinks())
        statuses.append(try await download(requests, options).status)
    }
    return options.status(after: ExitCode(of: statuses))
}

/// Runs downloads to completion and returns the exit status.
///
/// With `--follow-metalink`, also returns the paths of the finished files; otherwise, `finished` is empty.
func download(
    _ requests: [DownloadRequest],
    _ options: GetOptions
) async throws -> (status: ExitCode, finished: [String]) {
    let signals = Signals.requests()
    return try await withDownloadManager(options.configuration) { manager in
        // Leaked on purpose: the process exits soon, which is faster than deallocating each download.
        _ = Unmanaged.passRetained(manager)
        let run = Run(manager, options, signals)
        // The first downloads start while the others are added.
        let limit = options.configuration.maxConcurrentDownloads.maximum
        try await manager.download(Array(requests.prefix(limit)))
        // In batches, because running downloads wait for the queue while a batch is added.
        for start in stride(from: limit, to: requests.count, by: 64) {
            try await manager.download(Array(requests[start..<min(start + 64, requests.count)]))
        }
        let status = try await run.finish()
        guard options.followsMetalinks else { return (status, []) }
        return (status, await manager.downloads.compactMap { $0.fileURL?.plainPath })
    }
}

extension Metalink {
    fileprivate static func isDocument(_ path: String) -> Bool {
        guard let bytes = try? Files.read(path, maxBytes: maxBytes) else { return false }
        return (try? Metalink(parsing: bytes)) != nil
    }
}

extension GetOptions {
    /// Whether to download the files that downloaded Metalink documents describe; `false` if the file is also or only
    /// written to standard output.
    fileprivate var followsMetalinks: Bool { arguments.has(.followMetalink) && !copiesToOutput }

    /// The way in which the same command, run again, treats a finished file; `nil` if it skips the file.
    var rerun: Interruption.Rerun? {
        guard conflictPolicy != .skip else { return nil }
        return refetchPolicy == .always ? .downloads : .checks
    }

    /// Reads the files and the checksum list that the options name, and returns all requests.
    ///
    /// With `areStored`, the requests are for a queue on disk:
    /// - The secret header fields of the configuration file are left out. A message reports those that `queue run` will
    ///   not send either.
    /// - The netrc, cookie and TLS files are read only to download the checksum list.
    mutating func readRequests(areStored: Bool = false) async throws -> [DownloadRequest] {
        try readOperands()
        let (listed, files) = (try readList(), try readMetalinks())
        if !areStored || downloadsChecksumFile { try await readNetworkFiles() }
        let checksums = try await readChecksumList()
        let hosts = hosts
        if areStored { for index in hosts.indices { self.hosts[index].headers.removeAll(where: \.isCredential) } }
        let requests = try requests(listed: listed, files: files, checksums: checksums)
        guard areStored, verbosity != .quiet else { return requests }
        let fields = requests.map(\.url).flatMap { url in
            hosts.flatMap { $0.unsuppliedSecrets(for: url) }.map { "\(url.host() ?? ""): the header field \($0)" }
        }
        for field in Set(fields).sorted() {
            let problem = "of the configuration file is a secret, which the queue does not store"
            Console.error.note("\(field) \(problem); queue run will not send it")
        }
        return requests
    }

    /// Treats the operand `-` as `--input-file -`, and replaces URLs with patterns by the URLs that they stand for.
    private mutating func readOperands() throws {
        if urls.contains("-") {
            urls.removeAll { $0 == "-" }
            guard inputFile == nil else {
                throw UsageError("-: a list is already read from --input-file \(inputFile ?? "")")
            }
            inputFile = "-"
        }
        urls = try urls.flatMap { try URLPattern.expanded($0) }
    }

    private func readList() throws -> [URLList.Entry] {
        guard let inputFile else { return [] }
        let name = inputFile == "-" ? "standard input" : inputFile
        return try Option.inputFile.reading(name) { try URLList(Files.read(inputFile), name: name).entries }
    }

    /// Reads the Metalink documents, and returns the files that they describe.
    ///
    /// Invalid files are left out, and with `needsSources` also files without a URL; ``status(after:)`` reports them.
    /// Throws if this leaves no file and the user gave neither URLs nor a URL list.
    mutating func readMetalinks(needsSources: Bool = true) throws -> [Metalink.File] {
        var files: [Metalink.File] = []
        for name in metalinks {
            guard !name.contains("://") else {
                let url = name.withoutCredentials
                throw UsageError("--metalink: \(url): not a local file; download it first with headrace get \(url)")
            }
            files += try Option.metalink.reading(name) { try Metalink(parsing: Files.read(name)).files }
        }
        let rejected = files.filter { $0.problem != nil || $0.urls.isEmpty && needsSources }
        if let first = rejected.first, rejected.count == files.count, urls.isEmpty, inputFile == nil {
            throw UsageError(Self.rejection(of: first))
        }
        rejectedFiles += rejected.map(Self.rejection)
        return files.filter { !rejected.contains($0) }
    }

    static func rejection(of file: Metalink.File) -> String {
        "--metalink: \(file.name): \(file.problem ?? "it has no http or https source")"
    }

    /// Prints why files of Metalink documents were rejected; returns `status` combined with a usage error if any were.
    func status(after status: ExitCode) -> ExitCode {
        guard !rejectedFiles.isEmpty else { return status }
        for message in rejectedFiles { _ = report(message, .invalidRequest, writesJSON: writesJSON) }
        return ExitCode(of: [status, .usage])
    }
}
