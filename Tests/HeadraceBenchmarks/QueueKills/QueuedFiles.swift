import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The process that is killed: a manager that runs the list of a registry, and says what it finds and what it does.
///
/// Each line is a word and what it is about: `was` and `is` with the identity, the state and the URL of a download, before
/// the first starts and when the last has ended, in the order of the list; `restarted`, `damaged` and `failed` with a reason.
enum QueuedFiles {
    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw BenchmarkError("\(text) is no URL") }
        return url
    }

    /// Makes the list.
    static func fill(_ registry: String, to folder: String, _ urls: [URL]) async throws {
        let configuration = DownloadManager.Configuration {
            $0.registryDirectory = URL(filePath: registry, directoryHint: .isDirectory)
            $0.startsDownloads = false
        }
        try await withDownloadManager(configuration) { manager in
            let destination = DownloadRequest.Destination.directory(URL(filePath: folder, directoryHint: .isDirectory))
            _ = try await manager.download(urls.map { DownloadRequest($0, to: destination) })
            await tell("is", manager)
        }
    }

    /// Runs the list until nothing is left to do.
    static func drain(_ registry: String, jobs: Int) async throws {
        let configuration = DownloadManager.Configuration {
            $0.registryDirectory = URL(filePath: registry, directoryHint: .isDirectory)
            $0.maxConcurrentDownloads = jobs
        }
        try await withDownloadManager(configuration) { manager in
            await tell("was", manager)
            await withDiscardingTaskGroup { group in
                group.addTask { await tell(manager.events) }
                for download in await manager.downloads { group.addTask { await tell(download.events) } }
                await manager.waitUntilIdle()
                group.cancelAll()
            }
            await tell("is", manager)
        }
    }

    private static func tell(_ word: String, _ manager: DownloadManager) async {
        let lines = await manager.downloads.map { "\(word) \($0.id) \($0.state.kind.rawValue) \($0.request.url)" }
        Console.print(lines.joined(separator: "\n"))
    }

    private static func tell(_ events: AsyncStream<DownloadManager.Event>) async {
        for await event in events {
            switch event {
            case .registryDamaged(let reason): Console.print("damaged \(reason)")
            case .registryFailed(let error): Console.print("failed \(error.message)")
            default: break
            }
        }
    }

    private static func tell(_ events: AsyncStream<DownloadEvent>) async {
        for await event in events {
            switch event {
            case .restarted(let reason, let bytesWasted): Console.print("restarted \(bytesWasted) \(reason)")
            case .failed(let error): Console.print("failed \(error.message)")
            default: break
            }
        }
    }
}

/// What such a process said, as far as it got.
struct QueueListing: Sendable {
    struct Row: Sendable, Equatable {
        let id: String
        let state: String
        let url: String
    }

    /// The list as it was found; nil where the process did not get so far.
    private(set) var before: [Row]?
    private(set) var after: [Row]?
    /// The bytes that were given up, by reason.
    private(set) var restarts: [(reason: String, bytes: Int)] = []
    /// What must not happen.
    private(set) var complaints: [String] = []

    init(log: String) {
        // A process that is killed may leave half a line, which only a whole number of rows tells of.
        for line in FileSystem.text(of: log, limit: 4 << 20).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { continue }
            let rest = words[1].split(separator: " ").map(String.init)
            switch words[0] {
            case "was" where rest.count == 3: before = (before ?? []) + [Row(id: rest[0], state: rest[1], url: rest[2])]
            case "is" where rest.count == 3: after = (after ?? []) + [Row(id: rest[0], state: rest[1], url: rest[2])]
            case "restarted":
                restarts.append((rest.dropFirst().joined(separator: " "), rest.first.flatMap { Int($0) } ?? 0))
            case "damaged", "failed": complaints.append(String(line))
            default: break
            }
        }
    }
}
