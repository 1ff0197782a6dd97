import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The atomic replacement of a small file, such as a resume record.
@Suite(.timeLimit(.minutes(4)))
struct ReplaceFileTests {
    /// A call that fails while the file is replaced.
    enum FailingCall: CaseIterable {
        case write
        case sync
        case close
        case replace
    }

    private func files(failing call: FailingCall) -> FileSystem {
        var files = FileSystem.system
        let error = SystemError(errno: EIO)
        switch call {
        case .write: files.write = { _, _, _ throws(SystemError) in throw error }
        case .sync: files.sync = { _ throws(SystemError) in throw error }
        case .close:
            files.close = { file throws(SystemError) in
                try FileSystem.system.close(file)
                throw error
            }
        case .replace: files.replace = { _, _ throws(SystemError) in throw error }
        }
        return files
    }

    /// Regression: the temporary file remained if it could not be closed.
    @Test(arguments: FailingCall.allCases)
    func `after any failure, the old file remains and the temporary one is removed`(_ call: FailingCall) async throws {
        let files = files(failing: call)
        try await withTemporaryDirectory { folder in
            let path = folder.appending(path: "a").path
            try FileSystem.system.replaceFile(path, by: path + ".new", with: [1], syncing: .nothing)
            #expect(throws: SystemError(errno: EIO)) {
                try files.replaceFile(path, by: path + ".new", with: [2, 3], syncing: .contentsAndName)
            }
            let (names, bytes) = (try FileProbe.names(in: folder), try FileSystem.system.read(path, 10))
            #expect(names == ["a"])
            #expect(bytes == [1])
        }
    }

    /// Regression: as for a replaced file.
    @Test(arguments: [FailingCall.write, .sync, .close])
    func `a command that cannot be written leaves no file`(_ call: FailingCall) async throws {
        try await withTemporaryDirectory { folder in
            let spool = CommandSpool(in: folder.path, calls: files(failing: call))
            #expect(throws: DownloadError.self) { try spool.post(.pause([1])) }
            let names = try FileProbe.names(in: folder.appending(path: CommandSpool.folderName))
            #expect(names == [])
        }
    }
}
