import Headrace
import HeadracePlatform

/// Runs `headrace get --dry-run`: requests each file, prints its size and destination, and cancels the download.
///
/// Sends GET requests, because servers may respond to HEAD differently.
func dryRun(_ requests: [DownloadRequest], _ options: GetOptions) async throws -> ExitCode {
    var configuration = options.configuration
    configuration.maxConnectionsPerDownload = 1
    configuration.durability = .none
    return try await withTemporaryFolder { [configuration] folder in
        let rehearsals = try requests.enumerated().map { number, request in
            // In a temporary folder, because a small file may be complete before its download is cancelled.
            let target = folder.appending(path: "\(number)", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
            return DryRun(request, in: target)
        }
        if options.writesJSON { Console.output.write(JSONLines.head + "\n") }
        return try await withDownloadManager(configuration) { manager in
            let downloads = try await manager.download(rehearsals.map(\.trial))
            return await withTaskGroup { group in
                for (rehearsal, download) in zip(rehearsals, downloads) {
                    group.addTask { await rehearsal.run(download, writesJSON: options.writesJSON) }
                }
                return ExitCode(of: await group.reduce(into: []) { if $1 != .success { $0.append($1) } })
            }
        }
    }
}

/// A request, and a copy of it that downloads to a temporary folder.
private struct DryRun: Sendable {
    let request: DownloadRequest
    let trial: DownloadRequest

    init(_ request: DownloadRequest, in folder: URL) {
        self.request = request
        var trial = request
        trial.destination =
            switch request.destination {
            case .file(let file): .file(folder.appending(path: file.lastPathComponent))
            case .directory: .directory(folder)
            }
        trial.refetchPolicy = .always
        self.trial = trial
    }

    /// Follows the trial download until the server responds, and prints the result.
    func run(_ download: Download, writesJSON: Bool) async -> ExitCode {
        let item = DisplayedDownload(id: "\(download.id)", request: request)
        for await event in download.events {
            switch event {
            case .responded(let status, let totalBytes, let file):
                await download.cancel()
                let (target, what) = outcome(at: target(named: file.lastPathComponent))
                guard !writesJSON else {
                    return Console.output.print(
                        JSONLines.line(for: .responded(status: status, totalBytes: totalBytes, file: target), of: item)
                    )
                }
                let size = totalBytes.map(Format.size) ?? "size unknown"
                let shown = what.map { "\(size); \($0)" } ?? size
                return Console.output.print("\(target.plainPath): \(shown) (\(item.url))".printable)
            case .failed(let error):
                if writesJSON { Console.output.write(JSONLines.line(for: event, of: item) + "\n") }
                let line = MessageFormatter(verbosity: .normal, isLive: true).line(for: event, of: item)
                if let line { Console.error.write(line + "\n") }
                return ExitCode(error.code)
            default: break
            }
        }
        return .success
    }

    private func target(named name: String) -> URL {
        switch request.destination {
        case .file(let file): file
        case .directory(let folder): folder.appending(path: name)
        }
    }

    /// Returns the destination of the file, and what would happen to an existing file there; `nil` if none exists.
    private func outcome(at target: URL) -> (target: URL, what: String?) {
        guard Files.exists(target.plainPath) else { return (target, nil) }
        switch (request.refetchPolicy, request.conflictPolicy) {
        case (.ifChanged, _):
            let isCompared = !request.checksums.isEmpty || request.pieceHashes != nil
            let reason = isCompared ? "its checksum is wrong" : "the server has another version"
            return (target, "exists, and will be replaced if \(reason)")
        case (_, .skip): return (target, "exists, and will be skipped")
        case (_, .fail): return (target, "exists, so the download will fail")
        case (_, .overwrite): return (target, "exists, and will be replaced")
        case (.unlessCurrent, .rename):
            let other = firstFreeName(for: target).lastPathComponent
            return (target, "exists; unless it is up to date, the server's version will be saved as \(other)")
        case (.always, .rename):
            return (firstFreeName(for: target), "\(target.lastPathComponent) exists, and will be kept")
        }
    }

    /// Returns the first numbered variant of the URL at which no file exists.
    private func firstFreeName(for target: URL) -> URL {
        var number = 1
        while Files.exists(target.numbered(number).plainPath) { number += 1 }
        return target.numbered(number)
    }
}
