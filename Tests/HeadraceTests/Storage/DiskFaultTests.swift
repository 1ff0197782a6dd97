import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Disks that fail during a download, and the state the next run finds.
@Suite(.timeLimit(.minutes(4)))
struct DiskFaultTests {
    /// A file system that is full from an offset on.
    private func full(from limit: Int64) -> FileSystem {
        FileSystemRecorder { call throws(SystemError) in
            if case .write(let offset, let count) = call, offset + Int64(count) > limit {
                throw SystemError(errno: ENOSPC)
            }
        }.fileCalls
    }

    @Test func `K01 bytes received before the disk was full are saved and resumed`() async throws {
        try await withTemporaryDirectory { folder in
            let first = try await DiskFixture.run(to: .directory(folder), files: full(from: 700_000))
            #expect(first.error?.code == .diskFull)
            #expect(try FileProbe.names(in: folder).count == 2)
            let second = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(second.error == nil)
            #expect(second.starts == [Int64(10 * 64 << 10)])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    /// Regression: the partial file was left without a record and downloaded again completely.
    @Test(arguments: [true, false])
    func `K01 a full disk drops the last bytes to make room for the record`(
        _ hasTornWrite: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            let limit: Int64 = 700_000
            let isFull = Locked(false)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                switch call {
                case .write(let offset, let count) where offset + Int64(count) > limit:
                    isFull.withLock { $0 = true }
                    throw SystemError(errno: ENOSPC)
                case .truncate(let size) where hasTornWrite || size <= limit - 100_000: isFull.withLock { $0 = false }
                case .create where isFull.withLock { $0 }: throw SystemError(errno: ENOSPC)
                default: break
                }
            }
            let first = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(first.error?.code == .diskFull)
            #expect(try FileProbe.names(in: folder).count == 2)
            let second = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(second.error == nil)
            let start = try #require(second.starts.first)
            #expect(hasTornWrite ? start == 10 * 64 << 10 : (560_000..<600_000).contains(start))
            #expect(second.starts.count == 1)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test(arguments: [EMFILE, ENFILE])
    func `too many open files is transient, and the download is retried`(_ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let creations = Locked(0)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                guard call == .create else { return }
                let count = creations.withLock { count in
                    count += 1
                    return count
                }
                if count == 1 { throw SystemError(errno: errno) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls, retries: 1)
            #expect(outcome.error == nil)
            let errors = outcome.events.compactMap { if case .retrying(let error, _, _) = $0 { error } else { nil } }
            #expect(errors.map(\.code) == [.fileSystem])
            #expect(
                errors.first?.message.hasSuffix("Allow more open files (ulimit -n), or run fewer downloads at once.")
                    == true
            )
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test func `K02 a record that cannot be written leaves the old one unchanged`() async throws {
        try await withTemporaryDirectory { folder in
            _ = try await DiskFixture.run(to: .directory(folder), files: .system) {
                DiskFixture.response($0, sending: 300_000)
            }
            let record = URL(filePath: try DiskFixture.partial(in: folder).path + RecordFile.suffix)
            let old = try FileProbe.bytes(of: record)
            let isBody = Locked(false)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                switch call {
                case .write(let offset, _) where offset > 0: isBody.withLock { $0 = true }
                case .write where isBody.withLock { $0 }: throw SystemError(errno: ENOSPC)
                default: break
                }
            }
            let second = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls) {
                DiskFixture.response($0, sending: 300_000)
            }
            #expect(second.starts == [300_000])
            #expect(second.error?.code == .connectionLost)
            #expect(try FileProbe.bytes(of: record) == old)
            #expect(try FileProbe.names(in: folder).count == 2)
            let third = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(third.starts == [300_000])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    /// Regression: each response delayed the next record, so a kill lost all bytes.
    @Test func `X01 many short responses do not delay the record`() async throws {
        let (clock, recorder) = (TestClock(), FileSystemRecorder())
        try await withTemporaryDirectory { folder in
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                files: recorder.fileCalls,
                clock: clock,
                retries: 1,
                connections: 1
            ) { request in
                let start = DiskFixture.start(of: request)
                guard start > 0 else { return DiskFixture.response(request, sending: 300_000) }
                clock.advance(by: CheckpointPolicy.recordInterval / 2)
                let end = start + 100_000
                return FakeTransport.Reply(
                    206,
                    fields: [
                        ("ETag", "\"v1\""), ("Content-Length", "\(end - start)"),
                        ("Content-Range", "bytes \(start)-\(end - 1)/\(DiskFixture.size)"),
                    ],
                    body: Array(DiskFixture.bytes[start..<end])
                )
            }
            #expect(outcome.error == nil)
            #expect(outcome.starts.count == 11)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            // One when the first response is cut off, and one for every two of the others except the last.
            #expect(recorder.calls.count { $0 == .replace } >= 5)
        }
    }

    @Test func `K06 a sync that fails at the end is not retried and leaves no file`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if call == .sync { throw SystemError(errno: EIO) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.code == .fileSystem)
            #expect(recorder.calls.filter { $0 == .sync }.count == 1)
            #expect(!recorder.calls.contains(.move))
            #expect(try FileProbe.names(in: folder) == [])
        }
    }

    /// Regression: after the failure withdrew its bytes, a body without a length counted as complete: a wrong file.
    @Test(arguments: [true, false])
    func `K06 a sync that fails during the download stops it and leaves no file`(_ hasLength: Bool) async throws {
        let clock = TestClock()
        let disk = DiskFixture.failingToSync(clock)
        let outcome = try await DiskFixture.run(
            to: .file(URL(filePath: "/folder/file.bin")),
            files: disk.calls,
            clock: clock,
            retries: 3
        ) { request in
            var response = DiskFixture.response(request)
            if !hasLength { response = FakeTransport.Reply(fields: [("ETag", "\"v1\"")], body: DiskFixture.bytes) }
            return response
        }
        #expect(outcome.error?.code == .fileSystem)
        #expect(outcome.error?.cause as? SystemError == SystemError(errno: EIO))
        #expect(outcome.starts == [0])
        #expect(disk.image.bytes(of: "/folder/file.bin") == nil)
    }

    /// Regression: a sync that became due while a record was written was skipped if the body ended meanwhile.
    @Test func `X03 no file gets its final name before its last byte is synced`() async throws {
        for slowRecords in [false, true] {
            let clock = TestClock()
            let gate = RecordGate()
            let disk = MemoryDisk { change throws(SystemError) in
                switch change {
                case .write(1, let offset, let bytes):
                    clock.advance(by: .seconds(1))
                    if Int(offset) + bytes.count == DiskFixture.size { gate.open() }
                case .create(let path, _) where slowRecords && path.hasSuffix(".new"): gate.wait()
                default: break
                }
            }
            let outcome = try await DiskFixture.run(
                to: .file(URL(filePath: "/folder/file.bin")),
                files: disk.calls,
                clock: clock
            )
            #expect(outcome.error == nil)
            let changes = disk.changes
            let lastWrite = try #require(changes.lastIndex { if case .write(1, _, _) = $0 { true } else { false } })
            let lastSync = try #require(changes.lastIndex(of: .sync(1)))
            let naming = try #require(
                changes.firstIndex {
                    if case .rename(_, "/folder/file.bin") = $0 { true } else { false }
                }
            )
            let folderSync = try #require(changes.lastIndex(of: .syncDirectory("/folder")))
            #expect(lastWrite < lastSync)
            #expect(lastSync < naming)
            #expect(naming < folderSync)
        }
    }

    @Test func `X03 the order is data, sync, record, rename, directory sync`() async throws {
        try await withTemporaryDirectory { folder in
            _ = try await DiskFixture.run(to: .directory(folder), files: .system) {
                DiskFixture.response($0, sending: 1_250_000)
            }
            let recorder = FileSystemRecorder()
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                files: recorder.fileCalls,
                chunkBytes: 256 << 10
            )
            #expect(outcome.error == nil)
            let ignored: Set<FileSystemRecorder.Call> = [.status, .openStatus, .read, .close]
            let order = recorder.calls.filter { !ignored.contains($0) }.map { call in
                // Ignore the record's length.
                if case .write(0, _) = call { FileSystemRecorder.Call.write(offset: 0, count: 0) } else { call }
            }
            #expect(
                order == [
                    .checkDirectory, .open, .lock, .remove, .truncate(1_250_000), .freeSpace,
                    .write(offset: 1_250_000, count: 50_000), .sync,
                    .remove, .create, .write(offset: 0, count: 0), .sync, .replace, .syncDirectory,
                    .setMode(FileSystem.newFileMode), .move, .syncDirectory, .remove, .remove,
                ]
            )
        }
    }

    /// Resumes an earlier run on a file system whose directory syncs fail from `begin` on.
    private func runWithoutFolderSync(
        in folder: URL,
        _ errno: Int32,
        from begin: FileSystemRecorder.Call? = nil
    ) async throws -> (outcome: DiskOutcome, calls: [FileSystemRecorder.Call]) {
        _ = try await DiskFixture.run(to: .directory(folder), files: .system) {
            DiskFixture.response($0, sending: 300_000)
        }
        let hasBegun = Locked(begin == nil)
        let recorder = FileSystemRecorder { call throws(SystemError) in
            if call == begin { hasBegun.withLock { $0 = true } }
            if call == .syncDirectory, hasBegun.withLock({ $0 }) { throw SystemError(errno: errno) }
        }
        let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
        return (outcome, recorder.calls)
    }

    @Test(arguments: [EINVAL, EBADF, ENOTSUP, EOPNOTSUPP])
    func `a file system that cannot sync directories does not fail a download`(_ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let (outcome, calls) = try await runWithoutFolderSync(in: folder, errno)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [300_000])
            #expect(calls.contains(.syncDirectory))
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    /// Regression: the error said that the file could not be renamed.
    @Test(arguments: [(EIO, DownloadError.Code.fileSystem), (EACCES, .permission), (ENOSPC, .diskFull)])
    func `X03 the error of a failed directory sync names the complete file`(
        _ errno: Int32,
        _ code: DownloadError.Code
    ) async throws {
        for begin in [nil, FileSystemRecorder.Call.move] {
            try await withTemporaryDirectory { folder in
                let (outcome, _) = try await runWithoutFolderSync(in: folder, errno, from: begin)
                let error = try #require(outcome.error)
                let file = folder.appending(path: "file.bin")
                #expect(error.code == code)
                #expect(error.message.hasPrefix("\(file.path) is complete, but its folder could not be synced"))
                #expect(error.cause as? SystemError == SystemError(errno: errno))
                #expect(!error.message.contains(".part"))
                #expect(DiskFixture.isExact(file))
                // Without the record, the next run would download a copy.
                #expect(try FileProbe.names(in: folder).count == 2)
                let second = try await DiskFixture.run(to: .directory(folder), files: .system)
                #expect(second.error == nil)
                #expect(second.starts == [])
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
            }
        }
    }

    /// Regression: the renamed file's descriptor was still open and would have been truncated for the next attempt.
    @Test func `K06 a renamed file is not written to when the download is retried`() async throws {
        let disk = MemoryDisk { change throws(SystemError) in
            if change == .syncDirectory("/folder") { throw SystemError(errno: EIO) }
        }
        let record = DownloadRecord(
            id: Download.ID(rawValue: 1),
            request: try DiskFixture.request(to: .file(URL(filePath: "/folder/file.bin")))
        )
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration(),
            transport: FakeTransport { _ in FakeTransport.Reply(fields: [], body: []) },
            files: disk.calls,
            clock: AnyClock(TestClock())
        )
        var session = PartialDownload(record, environment)
        defer { session.close() }
        let bytes = Array("hello".utf8)
        let body = BodyPlacement(
            offset: 0,
            length: 5,
            totalBytes: 5,
            framing: .length(5),
            representation: RepresentationMetadata(),
            proof: nil
        )
        try session.begin(body, for: "/folder/file.bin")
        _ = try bytes.withUnsafeBytes { try session.append($0, at: 0) }
        await #expect(throws: DownloadError.self) {
            let rename = FinalRename(finalPath: "/folder/file.bin", source: record.request.url, isComplete: true)
            _ = try await rename.perform(on: &session)
        }
        #expect(session.held.isEmpty && session.file == nil)
        session.keep(after: nil, retryAt: nil)
        try session.discard()
        session.remove()
        #expect(disk.image.bytes(of: "/folder/file.bin") == bytes)
        #expect(disk.image.names.count == 1)
    }

    @Test(arguments: [0, 300_000])
    func `K23 a file that cannot be renamed is kept unless it is empty`(_ size: Int) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if call == .move { throw SystemError(errno: EEXIST) }
            }
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                .fail,
                files: recorder.fileCalls,
                durability: .none
            ) { DiskFixture.response($0, of: size) }
            let error = try #require(outcome.error)
            let partial = try DiskFixture.partial(in: folder)
            #expect(error.code == .fileExists)
            #expect(error.message.contains("kept as \(partial.path)") == (size > 0))
            #expect(FileProbe.size(of: partial) == (size > 0 ? Int64(size) : nil))
            // All of it survives a restart of the system.
            if case .record(let record) = try RecordFile(of: partial.path, calls: .system).read() {
                #expect(record.durable == record.written && !record.durable.isEmpty && size > 0)
            } else {
                #expect(size == 0)
            }
            // The permissions are unchanged.
            #expect(size == 0 || FileProbe.permissions(of: partial) == 0o600)
        }
    }

    @Test func `a complete file whose status cannot be read is kept with its record`() async throws {
        try await withTemporaryDirectory { folder in
            let isWritten = Locked(false)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                switch call {
                case .write(let offset, let count) where Int(offset) + count == DiskFixture.size:
                    isWritten.withLock { $0 = true }
                case .status where isWritten.withLock({ $0 }): throw SystemError(errno: EIO)
                default: break
                }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.message.contains("could not be checked: ") == true)
            #expect(outcome.error?.cause as? SystemError == SystemError(errno: EIO))
            let next = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(next.error == nil)
            #expect(next.starts == [])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test func `K24 a rename across file systems keeps the bytes, which are not downloaded again`() async throws {
        try await withTemporaryDirectory { folder in
            for policy in [DownloadRequest.ConflictPolicy.rename, .overwrite] {
                let recorder = FileSystemRecorder { call throws(SystemError) in
                    if call == .move { throw SystemError(errno: EXDEV) }
                }
                var calls = recorder.fileCalls
                calls.replace = { path, newPath throws(SystemError) in
                    // The replacement of the record stays within the folder.
                    guard path.hasSuffix(".new") else { throw SystemError(errno: EXDEV) }
                    try FileSystem.system.replace(path, newPath)
                }
                let outcome = try await DiskFixture.run(to: .directory(folder), policy, files: calls)
                let error = try #require(outcome.error)
                let partial = try DiskFixture.partial(in: folder)
                #expect(error.code == .fileSystem)
                #expect(error.message.contains("kept as \(partial.path). The folder spans two file systems"))
                #expect(DiskFixture.isExact(partial))
                let second = try await DiskFixture.run(to: .directory(folder), policy, files: .system)
                #expect(second.error == nil)
                #expect(second.starts == [])
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
                try FileManager.default.removeItem(at: folder.appending(path: "file.bin"))
            }
        }
    }

    @Test func `K24 the partial file and its record are in the directory of the file`() throws {
        let url = try #require(URL(string: "http://example.org/a/..%2Fb/c.bin?d=/e/f"))
        for destination in [
            DownloadRequest.Destination.directory(URL(filePath: "/folder/")), .directory(URL(filePath: "/folder")),
            .file(URL(filePath: "/folder/file.bin")), .file(URL(filePath: "/other/../folder/file.bin").standardized),
        ] {
            let names = DestinationPaths(DownloadRequest(url, to: destination))
            let record = RecordFile(of: names.partialPath, calls: .system).path
            for path in [names.partialPath, record, names.plannedPath] {
                #expect(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false) == "/folder/")
            }
        }
    }

    @Test func `K12 a partial file removed during the download is never reported as complete`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                guard case .write = call, let name = try? FileProbe.names(in: folder).first else { return }
                unlink(folder.appending(path: name).path)
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.code == .fileSystem)
            #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "file.bin").path))
        }
    }

    @Test func `K08 running out of descriptors fails the download, and the next run completes it`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if call == .create || call == .open { throw SystemError(errno: EMFILE) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.code == .fileSystem)
            #expect(try await DiskFixture.run(to: .directory(folder), files: .system).error == nil)
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `K26 a directory removed during the download is an error`() async throws {
        try await withTemporaryDirectory { outer in
            let folder = outer.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if case .write = call { try? FileManager.default.removeItem(at: folder) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.code == .fileSystem)
            #expect(try FileProbe.names(in: outer) == [])
        }
    }

    /// Regression: the error said that the file was removed, and a resume record without a file was left.
    @Test func `K26 a folder moved during the download can be moved back`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            try await withTemporaryDirectory { other in
                let moved = other.appending(path: "moved")
                let isMoved = Locked(false)
                let recorder = FileSystemRecorder { call throws(SystemError) in
                    guard case .write = call, !isMoved.withLock({ $0 }) else { return }
                    isMoved.withLock { $0 = true }
                    #expect(rename(folder.path, moved.path) == 0)
                    #expect(mkdir(folder.path, 0o700) == 0)
                }
                let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
                #expect(outcome.error?.code == .fileSystem)
                #expect(outcome.error?.message.contains("was moved during the download. Move it back") == true)
                #expect(try FileProbe.names(in: folder) == [])
                let names = [partial, record].map(\.lastPathComponent).sorted()
                #expect(try FileProbe.names(in: moved) == names)
                #expect(rename(moved.path, folder.path) == 0)
                let next = try await DiskFixture.run(to: .directory(folder), files: .system)
                #expect(next.error == nil)
                #expect(next.starts == [DiskFixture.held])
                #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            }
        }
    }
}
