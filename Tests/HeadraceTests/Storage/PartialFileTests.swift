import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// From the first byte to the rename: the order of the file calls, their failures, and the conflict policies.
@Suite(.timeLimit(.minutes(4)))
struct PartialFileTests {
    private let url = "http://example.org/file.bin"

    /// Downloads `body` into `folder` over fake connections and the given file calls.
    private func download(
        _ body: [UInt8] = Array("hello".utf8),
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        refetching refetchPolicy: DownloadRequest.RefetchPolicy = .always,
        checksums: [Checksum] = [],
        calls: FileSystem = .system.withoutUnnamedFiles
    ) async throws -> URL {
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: FakeTransport { _ in
                    FakeTransport.Reply(fields: [("Content-Length", "\(body.count)"), ("ETag", "\"v1\"")], body: body)
                },
                files: calls,
                clock: AnyClock(TestClock())
            )
        )
        var request = DownloadRequest(try #require(URL(string: url)), to: destination, conflictPolicy: policy)
        (request.refetchPolicy, request.checksums) = (refetchPolicy, checksums)
        let download = try await manager.download(request)
        let result = await Result { try await download.value }
        await manager.shutdown()
        return try result.get()
    }

    private func failure(
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        refetching refetchPolicy: DownloadRequest.RefetchPolicy = .always,
        calls: FileSystem = .system.withoutUnnamedFiles
    ) async throws -> DownloadError {
        try await #require(throws: DownloadError.self) {
            try await download(to: destination, policy, refetching: refetchPolicy, calls: calls)
        }
    }

    @Test func `the rename comes last, after all bytes`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles)
            _ = try await download(to: .directory(folder), calls: recorder.fileCalls)
            #expect(
                recorder.calls == [
                    .checkDirectory, .status, .status, .createUnnamed, .create, .lock, .openStatus, .freeSpace,
                    .write(offset: 0, count: 5), .openStatus, .status, .sync, .openStatus, .status,
                    .setMode(FileSystem.newFileMode), .move, .syncDirectory, .close,
                ]
            )
        }
    }

    @Test func `X01 files left by a kill before the first record are removed in the end`() async throws {
        try await withTemporaryDirectory { folder in
            let request = DownloadRequest(try #require(URL(string: url)), to: .directory(folder))
            let partial = DestinationPaths(request).partialPath
            for path in [partial, partial + ".record.new"] {
                try Data("half".utf8).write(to: URL(filePath: path))
            }
            _ = try await download(to: .directory(folder))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `S05 only the owner can read a partial file`() async throws {
        try await withTemporaryDirectory { folder in
            let mode = Locked<UInt16?>(nil)
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                guard case .write = call, let name = try? FileProbe.names(in: folder).first else { return }
                mode.withLock { $0 = FileProbe.permissions(of: folder.appending(path: name)) }
            }
            _ = try await download(to: .directory(folder), calls: recorder.fileCalls)
            #expect(mode.withLock { $0 } == 0o600)
        }
    }

    @Test func `K09 short writes are continued`() async throws {
        try await withTemporaryDirectory { folder in
            let system = FileSystem.system
            var calls = system
            calls.write = { file, bytes, offset throws(SystemError) in
                try system.write(file, UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, 7)]), offset)
            }
            let body = Pattern(seed: 3).bytes(in: 0..<1000)
            let file = try await download(body, to: .directory(folder), calls: calls)
            #expect(try FileProbe.bytes(of: file) == body)
        }
    }

    @Test(arguments: [
        (ENOSPC, DownloadError.Code.diskFull), (EDQUOT, .diskFull), (EACCES, .permission), (EROFS, .permission),
        (EIO, .fileSystem), (EFBIG, .fileSystem), (ENODEV, .fileSystem),
    ])
    func `K03 K04 K05 K07 K08 K10 a failed call reports what, where and why, and leaves no file`(
        _ errno: Int32,
        _ code: DownloadError.Code
    )
        async throws
    {
        let failing: [FileSystemRecorder.Call] = [
            .checkDirectory, .create, .write(offset: 0, count: 5), .setMode(FileSystem.newFileMode), .move,
        ]
        for call in failing {
            try await withTemporaryDirectory { folder in
                let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { made throws(SystemError) in
                    if made == call { throw SystemError(errno: errno) }
                }
                let error = try await failure(to: .directory(folder), calls: recorder.fileCalls)
                #expect(error.code == code)
                #expect(error.message.contains(folder.path(percentEncoded: false).dropLast()))
                #expect(error.message.contains("\(SystemError(errno: errno))"))
                #expect(error.cause as? SystemError == SystemError(errno: errno))
                #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "file.bin").path))
            }
        }
    }

    /// Regression: every download on such a mount failed at the rename.
    @Test(arguments: [EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP], [DownloadRequest.ConflictPolicy.rename, .overwrite])
    func `a mount without file modes does not fail a download`(
        _ errno: Int32,
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                if case .setMode = call { throw SystemError(errno: errno) }
            }
            let file = try await download(to: .directory(folder), policy, calls: recorder.fileCalls)
            #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
            #expect(recorder.calls.contains(.setMode(FileSystem.newFileMode)))
        }
    }

    @Test(arguments: [0o600, 0o640, 0o604, 0o444, 0o666, 0o755] as [UInt32], [true, false])
    func `a replacement gets the old file's mode, and becomes readable to no additional user`(
        _ mode: UInt32,
        _ hasGroup: Bool
    ) async throws {
        var calls = FileSystem.system
        if !hasGroup { calls.setGroup = { _, _ throws(SystemError) in throw SystemError(errno: EPERM) } }
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data("old".utf8).write(to: file)
            #expect(chmod(file.path, mode_t(mode)) == 0)
            let group = try calls.status(file.path)?.group
            _ = try await download(to: .file(file), .overwrite, calls: calls)
            #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
            let new = try #require(try calls.status(file.path))
            let isSameForAll = mode & 0o007 == mode >> 3 & 0o007
            #expect(new.mode == (hasGroup || isSameForAll ? mode : mode & 0o700))
            #expect(new.group == group)
        }
    }

    @Test(arguments: [true, false])
    func `a replacement gets the old file's access list, or only its owner can read it`(
        _ isTaken: Bool
    ) async throws {
        var calls = FileSystem.system
        let list = Locked<[UInt8]>([])
        calls.attribute = { _, name, _ throws(SystemError) in
            guard name == "system.posix_acl_access" else { throw SystemError(errno: ENODATA) }
            return [1, 2, 3]
        }
        calls.setAttribute = { _, name, bytes throws(SystemError) in
            guard isTaken else { throw SystemError(errno: EPERM) }
            if name == "system.posix_acl_access" { list.withLock { $0 = bytes } }
        }
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data("old".utf8).write(to: file)
            #expect(chmod(file.path, 0o640) == 0)
            _ = try await download(to: .file(file), .overwrite, calls: calls)
            #expect(try calls.status(file.path)?.mode == (isTaken ? 0o640 : 0o600))
            #expect(list.withLock { $0 } == (isTaken ? [1, 2, 3] : []))
        }
    }

    @Test func `L17 a file that does not fit is rejected before its first byte`() async throws {
        try await withTemporaryDirectory { folder in
            var calls = FileSystem.system
            calls.freeSpace = { _ in 1 }
            calls.spaceAfterPurging = { _ in 0 }
            let error = try await failure(to: .directory(folder), calls: calls)
            #expect(error.code == .diskFull)
            #expect(error.message.contains(" needs 5 bytes more, but the disk has only 1 byte left."))
            #expect(try FileProbe.names(in: folder) == [])
        }
    }

    @Test(arguments: [Int64?.none, 5])
    func `L17 a file that may fit after the system purges caches is written`(
        _ space: Int64?
    ) async throws {
        try await withTemporaryDirectory { folder in
            var calls = FileSystem.system
            calls.freeSpace = { _ in 1 }
            calls.spaceAfterPurging = { _ throws(SystemError) in
                guard let space else { throw SystemError(errno: ENOTSUP) }
                return space
            }
            let file = try await download(to: .directory(folder), calls: calls)
            #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
        }
    }

    #if os(Linux)
    @Test func `L17 a file system that counts no blocks is not full`() throws {
        let file = try FileSystem.system.openForReading("/proc/self/stat")
        defer { try? FileSystem.system.close(file) }
        #expect(throws: SystemError.self) { try FileSystem.system.freeSpace(file) }
    }
    #endif

    @Test func `K23 a taken name gets a counter between stem and extension`() async throws {
        try await withTemporaryDirectory { folder in
            for name in ["file.bin", "file (1).bin", "file (2).bin"] {
                let file = try await download(to: .directory(folder), .rename)
                #expect(file.lastPathComponent == name)
            }
        }
    }

    @Test func `overwriting replaces a file but not a directory`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data("old content".utf8).write(to: file)
            #expect(try await download(to: .file(file), .overwrite).path == file.path)
            #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
            try FileManager.default.createDirectory(at: folder.appending(path: "d"), withIntermediateDirectories: false)
            let error = try await failure(to: .file(folder.appending(path: "d")), .overwrite)
            #expect(error.code == .fileSystem)
        }
    }

    @Test func `skipping uses the existing file unless its checksum is wrong, and sends no request`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data("old".utf8).write(to: file)
            let (right, wrong) = (try Checksum(.sha256, of: Array("old".utf8)), try Checksum(.sha256, of: [1]))
            for target in [DownloadRequest.Destination.file(file), .directory(folder)] {
                for checksums in [[], [right]] {
                    #expect(try await download(to: target, .skip, checksums: checksums).path == file.path)
                }
                let error = await #expect(throws: DownloadError.self) {
                    _ = try await download(to: target, .skip, checksums: [wrong])
                }
                #expect(error?.code == .fileExists)
                #expect(try FileProbe.bytes(of: file) == Array("old".utf8))
            }
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `K23 failing on a taken name leaves the file alone`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data("old".utf8).write(to: file)
            #expect(try await failure(to: .file(file), .fail).code == .fileExists)
            #expect(try await failure(to: .directory(folder), .fail).code == .fileExists)
            #expect(try FileProbe.bytes(of: file) == Array("old".utf8))
        }
    }

    @Test func `K23 a name that is taken during the download is not overwritten`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                if case .write = call { try? Data("rival".utf8).write(to: file) }
            }
            let error = try await failure(to: .file(file), .fail, calls: recorder.fileCalls)
            #expect(error.code == .fileExists)
            #expect(try FileProbe.bytes(of: file) == Array("rival".utf8))
        }
    }

    @Test func `K23 a name that is taken during the download is skipped if the policy says so`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            for destination in [DownloadRequest.Destination.file(file), .directory(folder)] {
                try? FileManager.default.removeItem(at: file)
                let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                    if case .write = call { try? Data("rival".utf8).write(to: file) }
                }
                let result = try await download(to: destination, .skip, calls: recorder.fileCalls)
                #expect(result.path == file.path)
                #expect(try FileProbe.bytes(of: file) == Array("rival".utf8))
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
            }
        }
    }

    @Test(
        .enabled(if: RefetchFixture.keepsAttributes, "no extended attributes here"),
        arguments: [FileSystem.unsynced, .unsynced.withoutUnnamedFiles]
    )
    func `K23 a file that another process downloads meanwhile is not downloaded again beside it`(
        _ calls: FileSystem
    ) async throws {
        try await withTemporaryDirectory { folder in
            let other = folder.appending(path: "other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
            let theirs = try await download(to: .directory(other), refetching: .ifChanged)
            let recorder = FileSystemRecorder(to: calls) { call throws(SystemError) in
                guard case .write = call else { return }
                try? FileManager.default.moveItem(at: theirs, to: folder.appending(path: "file.bin"))
            }
            let file = try await download(to: .directory(folder), refetching: .ifChanged, calls: recorder.fileCalls)
            #expect(file.lastPathComponent == "file.bin")
            #expect(try FileProbe.names(in: folder).sorted() == ["file.bin", "other"])
        }
    }

    @Test func `K23 a directory that appears during the download is not skipped to`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                guard case .write = call else { return }
                try? FileManager.default.createDirectory(
                    at: folder.appending(path: "file.bin"),
                    withIntermediateDirectories: false
                )
            }
            let error = try await failure(to: .directory(folder), .skip, calls: recorder.fileCalls)
            #expect(error.code == .fileSystem)
        }
    }

    /// Regression: the file was placed beside the directory as `d (1)`.
    @Test(arguments: DownloadRequest.ConflictPolicy.allCases)
    func `a directory given as the file is rejected before any request`(
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        try await withTemporaryDirectory { folder in
            let directory = folder.appending(path: "d")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles)
            let error = try await failure(to: .file(directory), policy, calls: recorder.fileCalls)
            #expect(error.code == .fileSystem)
            #expect(error.message.contains("is a directory"))
            #expect(recorder.calls == [.checkDirectory, .status])
        }
    }

    @Test func `S03 a link at the final name is not followed`() async throws {
        try await withTemporaryDirectory { folder in
            let target = folder.appending(path: "target")
            try Data("precious".utf8).write(to: target)
            let link = folder.appending(path: "file.bin")
            #expect(symlink(target.path, link.path) == 0)
            let file = try await download(to: .file(link), .overwrite)
            #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
            #expect(try FileProbe.bytes(of: target) == Array("precious".utf8))
        }
    }

    @Test(arguments: [
        (DownloadRequest.ConflictPolicy.rename, DownloadRequest.RefetchPolicy.always), (.overwrite, .always),
        (.overwrite, .unlessCurrent), (.rename, .ifChanged), (.skip, .ifChanged),
    ])
    func `a device, pipe or socket is neither replaced nor bypassed`(
        _ policy: DownloadRequest.ConflictPolicy,
        _ refetchPolicy: DownloadRequest.RefetchPolicy
    ) async throws {
        try await withTemporaryDirectory { folder in
            let pipe = folder.appending(path: "file.bin")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles)
            let error = try await failure(to: .file(pipe), policy, refetching: refetchPolicy, calls: recorder.fileCalls)
            #expect(error.code == .fileSystem)
            #expect(error.message == "\(pipe.path) is a device, a pipe or a socket, not a file. Choose another name.")
            #expect(recorder.calls == [.checkDirectory, .status])
            #expect(try FileSystem.system.status(pipe.path)?.kind == .other)
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
        #expect(try FileSystem.system.status("/dev/null")?.kind == .other)
    }

    @Test func `a pipe at the server's name is not replaced, even if it appears late`() async throws {
        for comesLate in [false, true] {
            try await withTemporaryDirectory { folder in
                let pipe = folder.appending(path: "file.bin")
                let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                    if case .write = call { mkfifo(pipe.path, 0o600) }
                }
                if !comesLate { #expect(mkfifo(pipe.path, 0o600) == 0) }
                let error = try await failure(to: .directory(folder), .overwrite, calls: recorder.fileCalls)
                #expect(error.code == (comesLate ? .fileExists : .fileSystem))
                #expect(try FileSystem.system.status(pipe.path)?.kind == .other)
            }
        }
    }

    @Test(arguments: [DownloadRequest.ConflictPolicy.rename, .skip, .fail])
    func `S03 a link at the final name is rejected unless it may be replaced`(
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        try await withTemporaryDirectory { folder in
            let link = folder.appending(path: "file.bin")
            #expect(symlink("nowhere", link.path) == 0)
            let error = try await failure(to: .file(link), policy)
            #expect(error.code == (policy == .fail ? .fileExists : .fileSystem))
            #expect(try FileSystem.system.status(link.path)?.kind == .link)
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test(arguments: ["../x", "in/x", "in/\u{301}x", "..", ".", ""])
    func `S01 no file is renamed out of its directory, wherever the name came from`(_ name: String) async throws {
        try await withTemporaryDirectory { folder in
            let out = folder.appending(path: "out")
            try FileManager.default.createDirectory(at: out.appending(path: "in"), withIntermediateDirectories: true)
            let record = DownloadRecord(
                id: Download.ID(rawValue: 1),
                request: try DiskFixture.request(to: .directory(out))
            )
            let environment = TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: FakeTransport { _ in FakeTransport.Reply(fields: [], body: []) },
                clock: AnyClock(TestClock())
            )
            var session = PartialDownload(record, environment)
            defer { session.close() }
            let error = await #expect(throws: DownloadError.self) {
                let path = out.path + "/" + name
                let rename = FinalRename(finalPath: path, source: record.request.url, isComplete: true)
                _ = try await rename.perform(on: &session)
            }
            #expect(error?.code == .fileSystem)
            #expect(try FileProbe.names(in: folder) == ["out"])
            #expect(try FileProbe.names(in: out) == ["in"])
        }
    }

    @Test func `a missing directory is created with its parents and survives a power cut`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles)
            let missing = folder.appending(path: "a/b")
            let first = try await download(to: .directory(missing), calls: recorder.fileCalls)
            #expect(first.path == missing.path + "/file.bin")
            let made: [FileSystemRecorder.Call] = [
                .checkDirectory, .status, .status, .createDirectory, .syncDirectory, .createDirectory, .syncDirectory,
                .checkDirectory,
            ]
            #expect(Array(recorder.calls.prefix(made.count)) == made)
            let second = try await download(to: .file(folder.appending(path: "c//d/x")))
            #expect(try FileProbe.bytes(of: second) == Array("hello".utf8))
        }
    }

    @Test func `K26 a file in the place of a directory is an error`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "taken")
            try Data().write(to: file)
            let dangling = folder.appending(path: "taken too")
            #expect(symlink("nowhere", dangling.path) == 0)
            for place in [file, file.appending(path: "deep/er"), dangling, dangling.appending(path: "deep")] {
                let error = try await failure(to: .file(place.appending(path: "x")))
                #expect(error.code == .fileSystem)
                #expect(error.message.contains("taken"))
            }
        }
    }

    @Test(arguments: [EACCES, ENOSPC, EROFS])
    func `K26 the error for a directory that cannot be created includes the reason`(_ number: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .system.withoutUnnamedFiles) { call throws(SystemError) in
                if call == .createDirectory { throw SystemError(errno: number) }
            }
            let error = try await failure(to: .directory(folder.appending(path: "new")), calls: recorder.fileCalls)
            #expect(error.cause as? SystemError == SystemError(errno: number))
            #expect(error.message.contains("/new"))
        }
    }
}

extension Result where Failure == any Error {
    /// Captures the result or the error of an asynchronous closure.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
