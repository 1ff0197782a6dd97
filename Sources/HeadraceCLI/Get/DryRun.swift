import Headrace
import HeadracePlatform

/// The maximum number of simultaneous requests if the user has set no limit.
private let maxAutomaticProbes = 8

/// Runs `headrace get --dry-run`: prints the size and the destination of each file without downloading it.
func dryRun(_ requests: [DownloadRequest], _ options: GetOptions) async throws -> ExitCode {
    if options.writesJSON { Console.output.write(JSONLines.head + "\n") }
    let configuration = options.configuration
    let jobs = configuration.maxConcurrentDownloads
    let most = jobs.isAutomatic ? maxAutomaticProbes : jobs.maximum
    let limit = min(most, configuration.maxConcurrentDownloadsPerHost ?? .max)
    return try await Signals.cancelling {
        try await withDownloadManager(configuration) { manager in
            await withTaskGroup(of: ExitCode.self) { group in
                var statuses: [ExitCode] = []
                for (index, request) in requests.enumerated() {
                    if index >= limit, let status = await group.next() { statuses.append(status) }
                    group.addTask { await show(request, manager, writesJSON: options.writesJSON) }
                }
                for await status in group { statuses.append(status) }
                return ExitCode(of: statuses)
            }
        }
    }
}

private func show(_ request: DownloadRequest, _ manager: DownloadManager, writesJSON: Bool) async -> ExitCode {
    let item = DisplayedDownload(id: "\(DownloadID.random())", request: request)
    do {
        let probe = try await manager.probe(request)
        let (file, effect) = probe.effect(of: request)
        guard !writesJSON else {
            let event = DownloadEvent.responded(status: probe.status, totalBytes: probe.totalBytes, file: file)
            return Console.output.print(JSONLines.line(for: event, of: item))
        }
        let size = probe.totalBytes.map(Format.size) ?? "size unknown"
        let shown = effect.map { "\(size); \($0)" } ?? size
        return Console.output.print("\(file.plainPath): \(shown) (\(item.url))".printable)
    } catch let error as DownloadError {
        if writesJSON { Console.output.write(JSONLines.line(for: .failed(error), of: item) + "\n") }
        let line = MessageFormatter(verbosity: .normal, isLive: true).line(for: .failed(error), of: item)
        if let line { Console.error.write(line + "\n") }
        return ExitCode(error.code)
    } catch {
        return .other
    }
}

extension DownloadProbe {
    /// Returns the destination and, if a file of the requested name exists, a phrase about what would happen to it.
    fileprivate func effect(of request: DownloadRequest) -> (file: URL, String?) {
        switch outcome {
        case .creates: return (file, nil)
        case .replaces: return (file, "exists, and will be replaced")
        case .replacesIfChanged:
            let isVerified = !request.checksums.isEmpty || request.pieceHashes != nil
            let reason = isVerified ? "its checksum is wrong" : "the server has another version"
            return (file, "exists, and will be replaced if \(reason)")
        case .savesBeside(let other): return (other, "\(file.lastPathComponent) exists, and will be kept")
        case .savesBesideIfChanged(let other):
            let name = other.lastPathComponent
            return (file, "exists; unless it is up to date, the server's version will be saved as \(name)")
        case .skips: return (file, "exists, and will be skipped")
        case .fails: return (file, "exists, so the download will fail")
        }
    }
}
