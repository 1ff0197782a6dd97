import Foundation
import Headrace
import HeadraceTestSupport
import Testing

// The samples of the pages on a video cache, on downloads in a server and on large files, as they stand there.

private struct VideoCache {
    let manager: DownloadManager
    let folder: URL

    /// Returns the download of a video: the one in the queue, or a new one.
    func video(at url: URL) async throws -> Download {
        guard let download = try await manager.downloads(.url(url)).first else {
            return try await manager.download(DownloadRequest(url, to: .directory(folder)))
        }
        // Continues after a pause or a failure, and downloads again if the file was deleted.
        await download.resume()
        try await download.move(to: .last)
        return download
    }

    /// Sends a part of a video to the player, as soon as it is received.
    func send(_ range: Range<Int64>, of video: Download, to player: (Data) async throws -> Void) async throws {
        for try await bytes in video.bytes(in: range) {
            try await player(bytes)
        }
    }

    /// Downloads the start of a video, so that it can begin at once later.
    func preload(_ video: Download) async throws {
        for try await _ in video.bytes(in: 0..<2_000_000) {}
        await video.pause()
    }

    /// Removes the videos that were watched longest ago, until the others have at most `limit` bytes.
    func trim(to limit: Int64) async throws {
        var total: Int64 = 0
        for video in try await manager.downloads(.state(.finished)).reversed() {
            guard case .finished(let file) = video.state else { continue }
            total += Int64((try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0)
            if total > limit { await video.remove(deletingFile: true) }
        }
    }
}

private struct Server {
    func serverConfiguration() -> DownloadConfiguration {
        DownloadConfiguration {
            $0.allowsAddress = { $0.isPublic }
            $0.maxFileSize = 500_000_000
            $0.timeLimit = .seconds(600)
            $0.minimumSpeed = 10_000
            $0.maxConcurrentDownloads = 16
            $0.maxConcurrentDownloadsPerHost = 4
            $0.maxConnectionsPerDownload = 1
            $0.retryPolicy.maxFailures = 2
            $0.waitsForConnectivity = false
            $0.durability = .none
        }
    }

    func fetch(_ url: URL, to file: URL, with manager: DownloadManager) async throws -> URL {
        var request = DownloadRequest(url, to: .file(file))
        request.refetchPolicy = .always
        request.mismatchPolicy = .delete
        let download = try await manager.download(request)
        do {
            let file = try await download.value
            await download.remove()
            return file
        } catch {
            await download.remove(deletingFile: true)
            throw error
        }
    }
}

private struct Models {
    func modelConfiguration(in folder: URL) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.registryDirectory = folder.appending(path: "queue")
            $0.maxConcurrentDownloads = 2
            $0.maxConnectionsPerHost = 16
        }
    }

    func fetchModel(
        _ url: URL,
        mirrors: [URL],
        sha256: String,
        into folder: URL,
        with manager: DownloadManager
    ) async throws -> URL {
        var request = DownloadRequest(url, to: .directory(folder))
        request.mirrors = mirrors
        request.checksums = [try Checksum(parsing: "sha256:\(sha256)")]
        request.group = "models"
        let download = try await manager.download(request)
        for await event in download.events {
            switch event {
            case .resumed(_, let bytesKept, _): print("resumed with \(bytesKept) bytes")
            case .sourceFailed(let error, let next): print("\(error) Continuing with \(next).")
            case .verifying: print("verifying")
            default: break
            }
        }
        return try await download.value
    }
}

/// The samples of the pages on tasks at work.
@Suite(.timeLimit(.minutes(4)))
struct DocumentationTaskTests {
    private let file = Resource(size: 6 << 20, seed: 3)
    private let configuration = DownloadConfiguration {
        $0.maxConnectionsPerDownload = 1
        $0.retryPolicy.maxFailures = 0
    }

    /// A server, an empty folder and a manager.
    private func withAll(
        _ response: Response,
        _ configuration: DownloadConfiguration,
        _ body: (FaultServer, URL, DownloadManager) async throws -> Void
    ) async throws {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(configuration) { try await body(server, folder, $0) }
            }
        }
    }

    // MARK: A video cache

    @Test func `the video cache preloads a video, and plays it later`() async throws {
        let gate = try Gate()
        let response = Response.sequence([.file(file).held(after: 3_000_000, until: gate)], then: .file(file))
        try await withAll(response, configuration) { server, folder, manager in
            let cache = VideoCache(manager: manager, folder: folder)
            let url = server.url("/film.mp4")
            try await cache.preload(try await cache.video(at: url))
            #expect(try await manager.downloads(.all).map(\.state) == [.paused])

            let video = try await cache.video(at: url)
            let range: Range<Int64> = 1_000_000..<5_000_000
            var shown = Data()
            try await cache.send(range, of: video) { shown += $0 }
            #expect(shown == Data(Pattern(seed: 3).bytes(in: range)))
            #expect(file.body.difference(fromFileAt: try await video.value) == nil)
            #expect(server.requests.dropFirst().allSatisfy { $0.rangeStart ?? 0 >= 2_000_000 })
        }
    }

    @Test func `the video cache removes the oldest videos, and downloads a deleted one again`() async throws {
        let small = Resource(size: 300_000, seed: 3)
        try await withAll(.file(small), configuration) { server, folder, manager in
            let cache = VideoCache(manager: manager, folder: folder)
            for name in ["a", "b", "c", "a"] { _ = try await cache.video(at: server.url("/\(name).mp4")).value }
            #expect(server.requests.count == 3)
            try await cache.trim(to: 700_000)
            #expect(try FileProbe.names(in: folder) == ["a.mp4", "c.mp4"])

            try FileManager.default.removeItem(at: folder.appending(path: "a.mp4"))
            let file = try await cache.video(at: server.url("/a.mp4")).value
            #expect(small.body.difference(fromFileAt: file) == nil)
            try await cache.trim(to: 0)
            #expect(try FileProbe.names(in: folder) == [])
            #expect(try await manager.downloads(.all).isEmpty)
        }
    }

    // MARK: A server

    @Test func `the configuration of the server connects to no private address`() async throws {
        try await withAll(.file(file), Server().serverConfiguration()) { server, folder, manager in
            let error = try await #require(throws: DownloadError.self) {
                try await Server().fetch(server.url("/a"), to: folder.appending(path: "a"), with: manager)
            }
            #expect(error.code == .addressRefused)
            #expect(server.connectionCount == 0)
            #expect(try FileProbe.names(in: folder) == [])
        }
    }

    @Test func `the server's downloads leave a complete file or nothing, and no entry in the queue`() async throws {
        let gate = try Gate()
        let routes = [
            "/whole": Response.file(file), "/cut": .file(file).truncated(after: 2_000_000), "/missing": .status(404),
            "/held": .file(file).held(after: 2_000_000, until: gate),
        ]
        var configuration = Server().serverConfiguration()
        configuration.allowsAddress = nil
        configuration.retryPolicy = .none
        try await withAll(.routes(routes), configuration) { server, folder, manager in
            let target = folder.appending(path: "a")
            for (path, code) in [("/cut", DownloadError.Code.connectionLost), ("/missing", .httpStatus)] {
                let error = try await #require(throws: DownloadError.self) {
                    try await Server().fetch(server.url(path), to: target, with: manager)
                }
                #expect(error.code == code)
                #expect(try FileProbe.names(in: folder) == [])
            }

            let task = Task { try await Server().fetch(server.url("/held"), to: target, with: manager) }
            while try FileProbe.names(in: folder).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try FileProbe.names(in: folder) == [])

            let result = try await Server().fetch(server.url("/whole"), to: target, with: manager)
            #expect(file.body.difference(fromFileAt: result) == nil)
            #expect(try FileProbe.names(in: folder) == ["a"])
            #expect(try await manager.downloads(.all).isEmpty)
        }
    }

    // MARK: Large files

    @Test func `the model comes from a mirror, and is verified`() async throws {
        let routes = ["/mirror/model.bin": Response.file(file)]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(Models().modelConfiguration(in: folder)) { manager in
                    let result = try await Models().fetchModel(
                        server.url("/model.bin"),
                        mirrors: [server.url("/mirror/model.bin")],
                        sha256: try await checksum(in: folder),
                        into: folder,
                        with: manager
                    )
                    #expect(file.body.difference(fromFileAt: result) == nil)
                }
            }
        }
    }

    @Test func `a model with a wrong checksum is saved under another name`() async throws {
        try await withAll(.file(file), configuration) { server, folder, manager in
            let error = try await #require(throws: DownloadError.self) {
                try await Models().fetchModel(
                    server.url("/model.bin"),
                    mirrors: [],
                    sha256: String(repeating: "0", count: 64),
                    into: folder,
                    with: manager
                )
            }
            #expect(error.code == .checksum)
            #expect(error.savedFile?.lastPathComponent == "model.bin.mismatch")
            #expect(try FileProbe.names(in: folder) == ["model.bin.mismatch"])
        }
    }

    @Test func `a model resumes in the next run`() async throws {
        let gate = try Gate()
        let response = Response.sequence([.file(file).held(after: 2_000_000, until: gate)], then: .file(file))
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let sha256 = try await checksum(in: folder)
                let fetch: @Sendable (DownloadManager) async throws -> URL = {
                    let url = server.url("/model.bin")
                    return try await Models().fetchModel(url, mirrors: [], sha256: sha256, into: folder, with: $0)
                }
                let manager = try await DownloadManager(configuration: configuration)
                let interrupted = Task { try await fetch(manager) }
                while (try partialSize(in: folder) ?? 0) < 2_000_000 { try await Task.sleep(for: .milliseconds(5)) }
                await manager.shutdown()
                let error = try await #require(throws: DownloadError.self) { try await interrupted.value }
                #expect(error.code == .shutDown)

                let result = try await withDownloadManager(configuration) { try await fetch($0) }
                #expect(file.body.difference(fromFileAt: result) == nil)
                #expect(server.requests.map(\.rangeStart) == [nil, 2_000_000])
            }
        }
    }

    /// The SHA-256 of the file, computed from a copy that is deleted again.
    private func checksum(in folder: URL) async throws -> String {
        let copy = folder.appending(path: "copy")
        try Data(Pattern(seed: 3).bytes(in: 0..<file.size)).write(to: copy)
        let checksum = try await Checksum.compute(.sha256, ofFileAt: copy)
        try FileManager.default.removeItem(at: copy)
        return checksum.hexadecimal
    }

    private func partialSize(in folder: URL) throws -> Int64? {
        try FileProbe.names(in: folder).first { $0.hasSuffix(".part") }
            .flatMap { FileProbe.size(of: folder.appending(path: $0)) }
    }
}
