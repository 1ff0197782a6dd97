import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// The programs of the page "Examples", as they stand there.
private struct Examples {
    func get(_ url: URL, into folder: URL, show: (String) -> Void) async throws -> URL {
        try await withDownloadManager { manager in
            let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
            for await progress in download.progress {
                let speed = Int(progress.bytesPerSecond / 1000)
                if let fraction = progress.fractionCompleted {
                    show("\(Int(fraction * 100)) %, \(speed) kB/s")
                } else {
                    show("\(progress.bytesReceived) bytes, \(speed) kB/s")
                }
            }
            return try await download.value
        }
    }

    enum Command {
        case pause, resume
    }

    func runQueue(
        adding urls: [URL],
        in folder: URL,
        commands: AsyncStream<Command>
    ) async throws -> [DownloadState] {
        let configuration = DownloadConfiguration {
            $0.registryDirectory = folder.appending(path: "queue")
            $0.maxConcurrentDownloads = 2
        }
        return try await withDownloadManager(configuration) { manager in
            // The downloads of earlier runs are already in the queue.
            try await manager.download(urls.map { DownloadRequest($0, to: .directory(folder)) })
            for await command in commands {
                switch command {
                case .pause: await manager.pauseAll()
                case .resume: await manager.resumeAll()
                }
            }
            await manager.waitUntilIdle()
            return await manager.downloads.map(\.state)
        }
    }

    func play(
        _ url: URL,
        from offset: Int64,
        into folder: URL,
        show: (Data) async throws -> Void
    ) async throws -> URL {
        try await withDownloadManager { manager in
            let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
            for try await bytes in download.bytes(in: offset...) {
                try await show(bytes)
            }
            // The part before the offset is downloaded as well.
            return try await download.value
        }
    }
}

/// The programs of the page "Examples" at work.
@Suite(.timeLimit(.minutes(4)))
struct ExampleTests {
    private let file = Resource(size: 6 << 20, seed: 3)

    @Test func `the first example downloads a file and shows its progress`() async throws {
        try await withFaultServer(.file(file)) { server in
            try await withTemporaryDirectory { folder in
                var lines: [String] = []
                let result = try await Examples().get(server.url("/file.bin"), into: folder) { lines.append($0) }
                #expect(result.lastPathComponent == "file.bin")
                #expect(file.body.difference(fromFileAt: result) == nil)
                #expect(lines.last?.hasPrefix("100 %, ") == true)
            }
        }
    }

    @Test func `the first example shows bytes while the size is unknown, and fails with the status`() async throws {
        let routes = ["/chunked.bin": Response.file(file).chunked().limited(bytesPerSecond: 20 << 20)]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                var lines: [String] = []
                _ = try await Examples().get(server.url("/chunked.bin"), into: folder) { lines.append($0) }
                #expect(lines.contains { $0.contains(" bytes, ") })
                let error = try await #require(throws: DownloadError.self) {
                    try await Examples().get(server.url("/missing"), into: folder) { _ in }
                }
                #expect(error.statusCode == 404)
                #expect(try FileProbe.names(in: folder) == ["chunked.bin"])
            }
        }
    }

    @Test func `the second example pauses its queue, and the next run resumes it`() async throws {
        let gate = try Gate()
        let held = Response.sequence([.file(file).held(after: 1 << 20, until: gate)], then: .file(file))
        let response = Response.routes(["/a.bin": held, "/b.bin": held])
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let (commands, keyboard) = AsyncStream.makeStream(of: Examples.Command.self)
                let urls = [server.url("/a.bin"), server.url("/b.bin")]
                async let first = Examples().runQueue(adding: urls, in: folder, commands: commands)
                while try partialSizes(in: folder).filter({ $0 >= 1 << 20 }).count < 2 {
                    try await Task.sleep(for: .milliseconds(5))
                }
                keyboard.yield(.pause)
                keyboard.finish()
                let paused = try await first
                #expect(paused == [.paused, .paused])

                let (again, nextKeyboard) = AsyncStream.makeStream(of: Examples.Command.self)
                nextKeyboard.yield(.resume)
                nextKeyboard.finish()
                let states = try await Examples().runQueue(adding: [], in: folder, commands: again)
                #expect(states == ["a.bin", "b.bin"].map { .finished(folder.appending(path: $0)) })
                for name in ["a.bin", "b.bin"] {
                    #expect(file.body.difference(fromFileAt: folder.appending(path: name)) == nil)
                    let start = server.requests.first { $0.path == "/\(name)" && $0.attempt > 0 }?.rangeStart
                    #expect(start ?? 0 >= 1 << 20, "the received bytes are not downloaded again")
                }
            }
        }
    }

    @Test func `the third example plays from the middle before the file is complete`() async throws {
        let gate = try Gate()
        let response = Response.answering { [file] request in
            request.rangeStart == nil ? .file(file).held(after: 1 << 20, until: gate) : .file(file)
        }
        let offset: Int64 = 4 << 20
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let target = folder.appending(path: "film.mp4")
                var (shown, wasComplete) = (Data(), true)
                let result = try await Examples().play(server.url("/film.mp4"), from: offset, into: folder) { bytes in
                    if shown.isEmpty {
                        wasComplete = FileProbe.size(of: target) != nil
                        gate.open()
                    }
                    shown += bytes
                }
                #expect(!wasComplete)
                #expect(shown == Data(Pattern(seed: 3).bytes(in: offset..<file.size)))
                #expect(result == target)
                #expect(file.body.difference(fromFileAt: result) == nil)
            }
        }
    }

    private func partialSizes(in folder: URL) throws -> [Int64] {
        try FileProbe.names(in: folder).filter { $0.hasSuffix(".part") }
            .compactMap { FileProbe.size(of: folder.appending(path: $0)) }
    }
}
