import Headrace
import HeadracePlatform

/// Runs `headrace get`: makes the requests, waits for the downloads, and gives the status.
func get(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    var options = try GetOptions(arguments)
    return try await reportingErrors(to: arguments) {
        async let isLoaded: Void = DownloadManager.loadTransport()
        let (listed, files) = (try options.readList(), try options.readMetalinks())
        try options.readNetworkFiles()
        let list = try await options.readChecksumList()
        let requests = try options.requests(listed: listed, files: files, checksums: list)
        await isLoaded
        guard !arguments.has(.dryRun) else { return try await dryRun(requests, options) }
        return try await download(requests, options)
    }
}

/// Runs downloads to their ends, and gives the status.
func download(_ requests: [DownloadRequest], _ options: GetOptions) async throws -> ExitCode {
    let signals = Signals.requests()
    return try await withDownloadManager(options.configuration) { manager in
        // The process ends next: its memory goes as a whole then, and not download by download.
        _ = Unmanaged.passRetained(manager)
        let run = Run(manager, .alone, options, signals)
        // The first ones begin while the others are entered.
        let limit = options.configuration.maxConcurrentDownloads
        try await manager.download(Array(requests.prefix(limit)))
        // In parts: while one is entered, those that run wait for the list.
        for start in stride(from: limit, to: requests.count, by: 64) {
            try await manager.download(Array(requests[start..<min(start + 64, requests.count)]))
        }
        return try await run.finish()
    }
}

extension DownloadRequest {
    /// Throws for what the manager would refuse, before anything is made on the disk; `place` begins the message.
    func check(at place: @autoclosure () -> String = "") throws(UsageError) {
        do throws(DownloadError) {
            try validate()
        } catch {
            throw UsageError(place() + error.message)
        }
    }
}

extension GetOptions {
    /// What becomes of a finished file when the same command runs again.
    var again: Interruption.Again {
        guard conflictPolicy != .skip else { return .skips }
        // Another login may get another file under the same tag.
        let mayLogIn = refetchPolicy == .unlessCurrent && configuration.mayLogIn(with: headers)
        return refetchPolicy == .always || mayLogIn ? .fetches : .asks
    }

    /// Reads the URLs of the input file, where there is one.
    func readList() throws(UsageError) -> [URLList.Entry] {
        guard let inputFile else { return [] }
        let name = inputFile == "-" ? "standard input" : inputFile
        return try URLList(try Self.read(inputFile, of: .inputFile, called: name), name: name).entries
    }

    /// Reads the documents, and gives the files that they name.
    func readMetalinks() throws(UsageError) -> [Metalink.File] {
        var files: [Metalink.File] = []
        for name in metalinks {
            guard !name.contains("://") else {
                let url = name.withoutCredentials
                throw UsageError("--metalink: \(url): it takes a file; headrace get \(url) fetches the document first")
            }
            let bytes = try Self.read(name, of: .metalink)
            files += try Self.parsed(name, of: .metalink) { () throws(DownloadError) in
                try Metalink(parsing: bytes).files
            }
        }
        return files
    }

    /// All bytes of a file that an option names.
    static func read(_ path: String, of option: Option, called name: String? = nil) throws(UsageError) -> [UInt8] {
        do throws(Files.Failure) {
            return try Files.read(path)
        } catch {
            throw UsageError(option, "\(name ?? path): \(error.reason)")
        }
    }
}
