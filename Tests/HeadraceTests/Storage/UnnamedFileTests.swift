import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Small files that arrive all at once: they have no name until they are complete.
@Suite(.timeLimit(.minutes(4)), .computing)
struct UnnamedFileTests {
    private static let bytes = Array(DiskFixture.bytes.prefix(5000))
    private let whole = CrashFixture(size: 5000, chunkBytes: 5000, connections: 1) { _, request in
        DiskFixture.response(request, sending: 5000, of: 5000)
    }

    /// Downloads the file to `folder/file.bin`, in one chunk or in chunks of the given size.
    private func download(
        into folder: URL,
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        inChunksOf chunkBytes: Int = 5000,
        checksums: [Checksum] = [],
        calls: FileSystem = .unsynced
    ) async throws -> DownloadError? {
        try await DiskFixture.run(
            to: .file(folder.appending(path: "file.bin")),
            policy,
            files: calls,
            chunkBytes: chunkBytes,
            checksums: checksums
        ) { DiskFixture.response($0, of: 5000) }.error
    }

    private func isExact(_ folder: URL, _ name: String = "file.bin") throws -> Bool {
        try FileProbe.bytes(of: folder.appending(path: name)) == Self.bytes
    }

    @Test(arguments: Crash.allCases)
    func `X01 X02 X03 X04 a small file appears with all bytes or not at all`(_ crash: Crash) async throws {
        try await whole.crashEverywhere(crash, .full, resumes: false)
    }

    #if os(Linux)
    @Test func `a small file that arrives at once has no name until it is complete`() async throws {
        try await withTemporaryDirectory { folder in
            let namesBefore = Locked<[String]?>(nil)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if case .linkOpen = call { namesBefore.withLock { $0 = try? FileProbe.names(in: folder) } }
            }
            let error = try await download(into: folder, calls: recorder.fileCalls)
            #expect(error == nil)
            #expect(try isExact(folder))
            #expect(namesBefore.withLock { $0 } == [])
            let mode = FileProbe.permissions(of: folder.appending(path: "file.bin"))
            #expect(mode == UInt16(FileSystem.newFileMode))
            #expect(!recorder.calls.contains { [.create, .lock, .move].contains($0) })
        }
    }

    @Test func `a file that appears during the download is treated as the conflict policy says`() async throws {
        for policy in [DownloadRequest.ConflictPolicy.rename, .overwrite, .skip, .fail] {
            try await withTemporaryDirectory { folder in
                let existing = folder.appending(path: "file.bin")
                let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                    if case .write(offset: 0, count: 5000) = call { try? Data("theirs".utf8).write(to: existing) }
                }
                let error = try await download(into: folder, policy, calls: recorder.fileCalls)
                let names = try FileProbe.names(in: folder).sorted()
                #expect(try isExact(folder) == (policy == .overwrite), "\(policy)")
                switch policy {
                case .rename:
                    #expect(try isExact(folder, "file (1).bin"))
                    #expect(names == ["file (1).bin", "file.bin"])
                case .overwrite, .skip:
                    #expect(error == nil)
                    #expect(names == ["file.bin"])
                case .fail:
                    #expect(error?.code == .fileExists)
                    #expect(names.count == 3, "the partial file and its record are kept: \(names)")
                }
            }
        }
    }
    #endif

    @Test func `a small file that arrives in several chunks is a partial file first`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            let error = try await download(into: folder, inChunksOf: 1000, calls: recorder.fileCalls)
            #expect(error == nil)
            #expect(recorder.calls.contains(.create))
            #expect(!recorder.calls.contains(.createUnnamed))
        }
    }

    @Test(arguments: [EACCES, EPERM, ENOENT, ENOTSUP])
    func `a system that cannot name an open file later gets a partial file`(_ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if case .linkOpen = call { throw SystemError(errno: errno) }
            }
            let error = try await download(into: folder, calls: recorder.fileCalls)
            #expect(error == nil)
            #expect(try isExact(folder))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
            let mode = FileProbe.permissions(of: folder.appending(path: "file.bin"))
            #expect(mode == UInt16(FileSystem.newFileMode))
        }
    }

    @Test func `a file that gets a partial file only at its rename has one number in its name`() async throws {
        try await withTemporaryDirectory { folder in
            try Data().write(to: folder.appending(path: "file.bin"))
            let second = folder.appending(path: "file (1).bin")
            let recorder = FileSystemRecorder(
                to: .unsynced,
                withPaths: { call, path throws(SystemError) in
                    guard call == .linkOpen, path.hasSuffix("file (1).bin") else { return }
                    // Meanwhile, another program takes the name.
                    try? Data().write(to: second)
                    throw SystemError(errno: EACCES)
                }
            )
            let error = try await download(into: folder, calls: recorder.fileCalls)
            #expect(error == nil)
            #expect(try FileProbe.names(in: folder) == ["file (1).bin", "file (2).bin", "file.bin"])
            #expect(try isExact(folder, "file (2).bin"))
        }
    }

    @Test func `a copy of a file that cannot be named is synced before its rename`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if case .linkOpen = call { throw SystemError(errno: ENOENT) }
            }
            let error = try await download(into: folder, calls: recorder.fileCalls)
            #expect(error == nil)
            let calls = recorder.calls
            let copied = try #require(calls.lastIndex(of: .write(offset: 0, count: 5000)))
            let renamed = try #require(calls.lastIndex(of: .move))
            #expect(calls[copied..<renamed].contains(.sync))
        }
    }

    @Test func `a file system without unnamed files gets a partial file`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if case .createUnnamed = call { throw SystemError(errno: EOPNOTSUPP) }
            }
            let error = try await download(into: folder, calls: recorder.fileCalls)
            #expect(error == nil)
            #expect(try isExact(folder))
            #expect(recorder.calls.contains(.move))
        }
    }

    @Test func `a small file with a wrong checksum is saved under another name`() async throws {
        try await withTemporaryDirectory { folder in
            let wrong = try Checksum(parsing: "sha256:" + String(repeating: "0", count: 64))
            let failure = try await download(into: folder, checksums: [wrong])
            let error = try #require(failure)
            #expect(error.code == .checksum)
            let saved = try #require(error.savedFile?.lastPathComponent)
            #expect(try isExact(folder, saved))
            #expect(try FileProbe.names(in: folder) == [saved])
        }
    }
}
