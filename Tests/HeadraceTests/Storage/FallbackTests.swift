import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// File systems that do not have what is asked of them.
@Suite(.timeLimit(.minutes(4)))
struct FallbackTests {
    /// The calls of a file system whose calls for a free name answer this; 0 stands for success.
    private func calls(_ recorder: FileCallRecorder, renaming: Int32, linking: Int32) -> FileCalls {
        let recorded = recorder.fileCalls
        var calls = recorded
        calls.move = { path, newPath throws(SystemError) in
            try recorded.takeFreeName(path, newPath) { path, newPath throws(SystemError) in
                guard renaming == 0 else { throw SystemError(errno: renaming) }
                try FileCalls.system.move(path, newPath)
            } linking: { path, newPath throws(SystemError) in
                guard linking == 0 else { throw SystemError(errno: linking) }
                guard link(path, newPath) == 0 else { throw SystemError(errno: errno) }
            }
        }
        return calls
    }

    /// Once no download with the default policy could be named on exFAT, nor on many mounts of FUSE.
    @Test(arguments: [EINVAL, ENOTSUP], [0, EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP, EMLINK])
    func `K23 a file system without the calls for it gives free names, and no others`(
        _ renaming: Int32,
        _ linking: Int32
    ) async throws {
        try await withTemporaryDirectory { folder in
            for name in ["file.bin", "file (1).bin", "file (2).bin"] {
                let recorder = FileCallRecorder(to: .unsynced)
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
                files: calls(FileCallRecorder(to: .unsynced), renaming: renaming, linking: linking)
            )
            #expect(outcome.error?.code == .fileExists)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    private static let otherFailures: [(renaming: Int32, linking: Int32)] = [
        (EEXIST, 0), (EIO, 0), (EPERM, 0), (EINVAL, EEXIST), (ENOSYS, EIO), (ENOTSUP, EACCES), (EOPNOTSUPP, EXDEV),
    ]

    @Test(arguments: otherFailures)
    func `another failure to take a name is one, and nothing else is tried`(_ renaming: Int32, _ linking: Int32) throws
    {
        let recorder = FileCallRecorder()
        let error = #expect(throws: SystemError.self) {
            try calls(recorder, renaming: renaming, linking: linking).move("/missing/a", "/missing/b")
        }
        #expect(error == SystemError(errno: linking == 0 ? renaming : linking))
        #expect(recorder.calls == [])
    }
}
