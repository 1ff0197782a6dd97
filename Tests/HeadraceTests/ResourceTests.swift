import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Resources that downloads use and release.
@Suite(.timeLimit(.minutes(4)))
struct ResourceTests {
    @Test func `Z06 a slow disk pauses the network, and memory stays bounded`() async throws {
        let size: Int64 = 256 << 20
        let written = Locked<Int64>(0)
        let maxAhead = Locked<Int64>(0)
        try await withFaultServer(.ok(.pattern(size: size))) { server in
            try await withTemporaryDirectory { folder in
                var calls = FileSystem.system
                // A disk that stores only holes and measures how far the server is ahead of it.
                calls.write = { file, bytes, offset throws(SystemError) in
                    let done = offset + Int64(bytes.count)
                    try FileSystem.system.truncate(file, done)
                    written.withLock { $0 = max($0, done) }
                    if done.isMultiple(of: 1 << 20) {
                        let ahead = server.traffic.bodyBytesSent - done
                        maxAhead.withLock { $0 = max($0, ahead) }
                    }
                    return bytes.count
                }
                calls.dataRange = { _, _ throws(SystemError) in throw SystemError(errno: EINVAL) }
                let configuration = DownloadConfiguration()
                let manager = try await DownloadManager(
                    environment: TransferEnvironment(
                        configuration: configuration,
                        transport: try DownloadConfiguration().makeTransport(),
                        files: calls,
                        clock: AnyClock(ContinuousClock())
                    )
                )
                let download = try await manager.download(DownloadRequest(server.url("/x"), to: .directory(folder)))
                _ = try await download.value
                await manager.shutdown()
            }
        }
        #expect(written.withLock { $0 } == size)
        // The stream's watermark, libcurl's buffer and the kernel's socket buffers.
        #expect(maxAhead.withLock { $0 } < 24 << 20)
    }

    /// Runs in a process of its own, because the counts are process-wide.
    @Test func `a thousand finished and cancelled downloads leave nothing behind`() async {
        await #expect(processExitsWith: .success) {
            let response = Response.routes(
                ["/stall": .ok(.pattern(size: 100_000)).stalled(after: 10_000)],
                otherwise: .ok("hello")
            )
            try await withFaultServer(response) { server in
                try await withTemporaryDirectory { folder in
                    try await downloadAndCancel(20, from: server, to: folder)
                    try await server.waitUntil { $0.openConnections == 0 }
                    let before = ProcessProbe.openDescriptors
                    try await downloadAndCancel(1000, from: server, to: folder)
                    try await server.waitUntil { $0.openConnections == 0 }
                    #expect(ProcessProbe.openDescriptors == before)
                    #expect(libraryThreads() == [])
                    #expect(try FileProbe.names(in: folder).count == 1020)
                }
            }
        }
    }
}

/// Finishes and cancels `count` downloads each, with their own manager.
private func downloadAndCancel(_ count: Int, from server: FaultServer, to folder: URL) async throws {
    try await withDownloadManager(.init { $0.maxConcurrentDownloads = 8 }) { manager in
        let finishing = try await manager.download(
            (0..<count).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
        )
        for download in finishing { _ = try await download.value }
        let stalling = try await manager.download(
            (0..<count).map { DownloadRequest(server.url("/stall?\($0)"), to: .directory(folder)) }
        )
        for download in stalling {
            if download.state == .running {
                for await progress in download.progress where progress.bytesReceived > 0 { break }
            }
            await download.cancel()
            #expect(download.state == .cancelled)
        }
    }
}

/// The names of the library's remaining threads.
private func libraryThreads() -> [String] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
        .filter { $0.hasPrefix("headrace-") }
}
