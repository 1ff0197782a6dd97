import Headrace

/// Measures operations on one download of a queue.
struct QueueVerbs {
    private static let rounds = 1_000

    static let names = [
        "look up", "set priority", "move first", "move last", "move before", "pause and resume", "add", "cancel",
    ]

    private let downloads: [Download]
    private let manager: DownloadManager
    private var added: [Download] = []
    private var random = SplitMix(seed: 1)

    init(_ downloads: [Download], of manager: DownloadManager) {
        self.downloads = downloads
        self.manager = manager
    }

    /// Returns the median time of an operation, in microseconds.
    mutating func cost(of name: String, _ request: (Int) -> DownloadRequest) async throws -> Double {
        var times: [Double] = []
        for round in 0..<Self.rounds {
            // A random download, whose data is not in the processor's caches.
            let download = downloads[Int.random(in: downloads.indices, using: &random)]
            let other = downloads[Int.random(in: downloads.indices, using: &random)]
            let request = request(downloads.count + round)
            let start = MonotonicTime.now
            switch name {
            case "look up":
                guard await manager[download.id] == download else { throw BenchmarkError("a download is lost") }
            case "set priority": await download.setPriority(DownloadPriority(rawValue: round % 3))
            case "move first": try await download.move(to: .first)
            case "move last": try await download.move(to: .last)
            case "move before": try await download.move(to: .before(other.id))
            case "pause and resume":
                await download.pause()
                await download.resume()
            case "add": added.append(try await manager.download(request))
            case "cancel": await added[round].cancel()
            default: throw BenchmarkError("there is no verb \(name)")
            }
            times.append(MonotonicTime.now - start)
        }
        times.sort()
        return times[times.count / 2] * 1_000_000
    }
}
