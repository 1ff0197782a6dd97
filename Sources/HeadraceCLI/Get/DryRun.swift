import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs `headrace get --dry-run`: asks for each file, tells its size and place, and lets go of it.
///
/// A HEAD request would cost less, and be answered otherwise than the GET that the download makes.
func dryRun(_ requests: [DownloadRequest], _ options: GetOptions) async throws -> ExitCode {
    var configuration = options.configuration
    configuration.maxConnectionsPerDownload = 1
    configuration.durability = .none
    let folder = FileManager.default.temporaryDirectory.appending(path: "headrace-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rehearsals = try requests.enumerated().map { number, request in
        // A small file may be whole before it is let go of.
        let place = folder.appending(path: "\(number)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        return Rehearsal(request, in: place)
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

/// A request, and one that is its like in a folder of its own.
private struct Rehearsal: Sendable {
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

    /// Follows the trial until it is answered, and tells what the answer says.
    func run(_ download: Download, writesJSON: Bool) async -> ExitCode {
        let item = Item(id: "\(download.id)", request: request)
        for await event in download.events {
            switch event {
            case .responded(let status, let totalBytes, let file):
                await download.cancel()
                let place = place(named: file.lastPathComponent)
                guard !writesJSON else {
                    return write(
                        JSONLines.line(for: .responded(status: status, totalBytes: totalBytes, file: place), of: item)
                    )
                }
                let size = totalBytes.map(Format.size) ?? "size unknown"
                return write("\(place.path(percentEncoded: false)): \(size) (\(item.url))".printable)
            case .failed(let error):
                if writesJSON { _ = write(JSONLines.line(for: event, of: item)) }
                let line = PlainText(verbosity: .normal, isLive: true).line(for: event, of: item)
                if let line { Console.error.write(line + "\n") }
                return ExitCode(error.code)
            default: break
            }
        }
        return .success
    }

    private func place(named name: String) -> URL {
        switch request.destination {
        case .file(let file): file
        case .directory(let folder): folder.appending(path: name)
        }
    }

    private func write(_ line: String) -> ExitCode { Console.output.write(line + "\n") ? .success : .disk }
}
