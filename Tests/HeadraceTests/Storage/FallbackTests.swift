import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// File systems that lack a system call.
@Suite(.timeLimit(.minutes(4)))
struct FallbackTests {
    /// A file system whose exclusive rename and link fail with these errors; 0 means success.
    private func calls(_ recorder: FileSystemRecorder, renaming: Int32, linking: Int32) -> FileSystem {
        let recorded = recorder.fileCalls
        var calls = recorded
        calls.move = { path, newPath throws(SystemError) in
            try recorded.takeFreeName(path, newPath) { path, newPath throws(SystemError) in
                guard renaming == 0 else { throw SystemError(errno: renaming) }
                try FileSystem.system.move(path, newPath)
            } linking: { path, newPath throws(SystemError) in
                guard linking == 0 else { throw SystemError(errno: linking) }
                guard link(path, newPath) == 0 else { throw SystemError(errno: errno) }
            }
        }
        return calls
    }

    /// Regression: with the default policy, no download could be renamed on exFAT and many FUSE mounts.
    @Test(arguments: [EINVAL, ENOTSUP], [0, EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP, EMLINK])
    func `K23 without exclusive renames, a file still gets only a free name`(
        _ renaming: Int32,
        _ linking: Int32
    ) async throws {
        try await withTemporaryDirectory { folder in
            for name in ["file.bin", "file (1).bin", "file (2).bin"] {
                let recorder = FileSystemRecorder(to: .unsynced)
                let outcome = try await DiskFixture.run(
                    to: .directory(folder),
                    files: calls(recorder, renaming: renaming, linking: linking)
                )
                #expect(outcome.error == nil)
                #expect(DiskFixture.isExact(folder.appending(path: name)))
                #expect(recorder.calls.contains(.replace) == (linking != 0))
            }
            #expect(try FileProbe.names(in: folder) == ["file (1).bin", "file (2).bin", "file.bin"])
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                .fail,
                files: calls(FileSystemRecorder(to: .unsynced), renaming: renaming, linking: linking)
            )
            #expect(outcome.error?.code == .fileExists)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    private static let otherFailures: [(renaming: Int32, linking: Int32)] = [
        (EEXIST, 0), (EIO, 0), (EPERM, 0), (EINVAL, EEXIST), (ENOSYS, EIO), (ENOTSUP, EACCES), (EOPNOTSUPP, EXDEV),
    ]

    @Test(arguments: otherFailures)
    func `any other rename failure is reported, and no fallback is tried`(_ renaming: Int32, _ linking: Int32) throws {
        let recorder = FileSystemRecorder()
        let error = #expect(throws: SystemError.self) {
            try calls(recorder, renaming: renaming, linking: linking).move("/missing/a", "/missing/b")
        }
        #expect(error == SystemError(errno: linking == 0 ? renaming : linking))
        #expect(recorder.calls == [])
    }

    @Test(arguments: [ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP])
    func `a file system without locks works for new and resumed downloads`(_ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == .lock { throw SystemError(errno: errno) }
            }
            let first = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls) {
                DiskFixture.response($0, sending: 300_000)
            }
            #expect(first.error?.code == .connectionLost)
            let second = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(second.error == nil)
            #expect(second.starts == [300_000])
            #expect(recorder.calls.count { $0 == .lock } == 2)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    /// Regression: each attempt left an empty partial file.
    @Test(arguments: [EIO, EINTR])
    func `a new partial file that cannot be locked is removed, and the reason is reported`(_ errno: Int32) async throws
    {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if call == .lock { throw SystemError(errno: errno) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls)
            #expect(outcome.error?.code == .fileSystem)
            #expect(outcome.error?.cause as? SystemError == SystemError(errno: errno))
            #expect(try FileProbe.names(in: folder) == [])
        }
    }

    /// Without a lock, two processes would write to one journal.
    @Test(arguments: [ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP])
    func `a registry on a file system without locks is rejected with the reason`(_ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == .lock { throw SystemError(errno: errno) }
            }
            let error = #expect(throws: DownloadError.self) {
                try RegistryFixture.open(folder, calls: recorder.fileCalls).list.close()
            }
            #expect(error?.code == .fileSystem)
            #expect(error?.message.contains("registry.lock could not be taken: \(SystemError(errno: errno)).") == true)
            #expect(
                error?.message.hasSuffix(
                    " A queue needs a file system that supports locks: choose another folder."
                ) == true
            )
            #expect(error?.cause as? SystemError == SystemError(errno: errno))
        }
    }
}
