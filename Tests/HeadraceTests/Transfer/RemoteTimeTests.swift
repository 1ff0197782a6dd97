import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The modification time of a finished file.
@Suite(.timeLimit(.minutes(4)))
struct RemoteTimeTests {
    private static let date = "Wed, 01 Jan 2025 00:00:00 GMT"
    private static let seconds: Int64 = 1_735_689_600

    /// Downloads over fake connections, and returns the file's modification time in nanoseconds.
    private func time(
        _ lastModified: String?,
        calls: FileSystem = .unsynced,
        configure: (inout DownloadConfiguration) -> Void = { _ in }
    ) async throws -> Int64 {
        try await withTemporaryDirectory { folder in
            let fields = [("Content-Length", "5")] + (lastModified.map { [("Last-Modified", $0)] } ?? [])
            var configuration = DownloadConfiguration()
            configure(&configuration)
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: configuration,
                    transport: FakeTransport { _ in .init(fields: fields, body: Array("hello".utf8)) },
                    files: calls,
                    clock: AnyClock(TestClock())
                )
            )
            let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
            let file = try await download.value
            #expect(await download.fileIsIntact)
            await manager.shutdown()
            return try #require(try FileSystem.system.status(file.path)).modified
        }
    }

    @Test func `a finished file has the Last-Modified time of the server`() async throws {
        #expect(try await time(Self.date) == Self.seconds * 1_000_000_000)
    }

    @Test(arguments: [nil, "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "yesterday", ""])
    func `without a plausible Last-Modified the file has the local time`(_ date: String?) async throws {
        let before = Int64(Date().timeIntervalSince1970) - 10
        #expect(try await time(date) / 1_000_000_000 >= before)
    }

    @Test func `the server's time is not used if that is disabled`() async throws {
        let recorder = FileSystemRecorder(to: .unsynced)
        let time = try await time(Self.date, calls: recorder.fileCalls) { $0.setsRemoteTime = false }
        #expect(time > Self.seconds * 1_000_000_000)
        #expect(!recorder.calls.contains(.setModified(Self.seconds)))
    }

    @Test func `a failure to set the time does not fail the download`() async throws {
        let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
            if case .setModified = call { throw SystemError(errno: EPERM) }
        }
        #expect(try await time(Self.date, calls: recorder.fileCalls) > Self.seconds * 1_000_000_000)
    }

    /// The time is set before the saved validator records it.
    @Test func `the time is set once, after the bytes and before the sync and the rename`() async throws {
        let recorder = FileSystemRecorder(to: .unsynced.withoutUnnamedFiles)
        _ = try await time(Self.date, calls: recorder.fileCalls)
        #expect(
            recorder.calls == [
                .checkDirectory, .status, .status, .createUnnamed, .create, .lock, .openStatus, .freeSpace,
                .write(offset: 0, count: 5), .openStatus, .status, .setModified(Self.seconds), .sync, .openStatus,
                .status, .setMode(FileSystem.newFileMode), .move, .syncDirectory, .close, .status,
            ]
        )
    }

    @Test func `a file from several connections has the server's time`() async throws {
        let resource = Resource(size: 3 << 20)
        try await withTemporaryDirectory { folder in
            let outcome = try await ResumeFixture.run(.file(resource), in: folder, expecting: resource) {
                $0.maxConnectionsPerDownload = 4
            }
            #expect(outcome.isExact)
            let status = try FileSystem.system.status(folder.appending(path: "file.bin").path)
            #expect(status?.modified == Self.seconds * 1_000_000_000)
        }
    }
}
