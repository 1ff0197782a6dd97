import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Syncs and resume records during a download, decided under a lock that must not wait for the disk.
@Suite(.timeLimit(.minutes(4)))
struct CheckpointerTests {
    /// A partial file with a few written bytes.
    private func session(files: FileSystem) throws -> PartialDownload {
        let record = DownloadRecord(
            id: Download.ID(rawValue: 1),
            request: try DiskFixture.request(to: .file(URL(filePath: "/folder/file.bin")))
        )
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration(),
            transport: FakeTransport { _ in FakeTransport.Reply(fields: [], body: []) },
            files: files,
            clock: AnyClock(TestClock())
        )
        var session = PartialDownload(record, environment)
        let body = BodyPlacement(
            offset: 0,
            length: 10,
            totalBytes: 10,
            framing: .length(10),
            representation: RepresentationMetadata(),
            proof: nil
        )
        try session.begin(body, for: "/folder/file.bin")
        _ = try Array("hello".utf8).withUnsafeBytes { try session.append($0) }
        return session
    }

    /// Regression: a status call on an unreachable network file system blocked a thread of the cooperative pool.
    @Test func `a checkpoint is prepared without a file call`() throws {
        let disk = MemoryDisk()
        let recorder = FileSystemRecorder(to: disk.calls)
        let session = try session(files: recorder.fileCalls)
        defer { session.close() }
        let callCount = recorder.calls.count
        let work = session.work(for: .writeRecord)
        #expect(recorder.calls.count == callCount)
        let isWritten = work()
        #expect(isWritten)
        guard case .record(let record) = try RecordFile(of: session.path, calls: SharedFileSystem(disk.calls)).read()
        else {
            Issue.record("There is no record")
            return
        }
        #expect(record.written.ranges == [0..<5])
        let status = try #require(try disk.calls.status(session.path))
        #expect(record.file == status.identity)
    }

    @Test func `a failed sync fails the transfer`() throws {
        let fails = Locked(false)
        let disk = MemoryDisk { change throws(SystemError) in
            if case .sync = change, fails.withLock({ $0 }) { throw SystemError(errno: EIO) }
        }
        let session = try session(files: disk.calls)
        defer { session.close() }
        let side = Checkpointer()
        var isSynced = try side.takeSyncSuccess(orThrow: session.syncFailure)
        #expect(!isSynced)
        for isBroken in [false, true] {
            fails.withLock { $0 = isBroken }
            side.add([.startSync])
            if let work = side.next(in: session) { work() }
            guard isBroken else {
                isSynced = try side.takeSyncSuccess(orThrow: session.syncFailure)
                #expect(isSynced)
                continue
            }
            for _ in 0..<2 {
                #expect(throws: DownloadError.self) { try side.takeSyncSuccess(orThrow: session.syncFailure) }
            }
            #expect(side.takeSyncResult() == false)
        }
    }
}
