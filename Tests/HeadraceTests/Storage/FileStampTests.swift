import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct FileStampTests {
    private func stamp(_ file: URL) throws -> FileStamp {
        FileStamp(try #require(try FileSystem.system.status(file.path)))
    }

    @Test func `a file has the same stamp under every name, and no other file has it`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "a")
            let moved = folder.appending(path: "b")
            try Data("one".utf8).write(to: file)
            let before = try stamp(file)
            #expect(before.size == 3)
            let seconds = Date().timeIntervalSince1970
            #expect(abs(Double(before.modified) / 1e9 - seconds) < 600)
            try FileSystem.system.move(file.path, moved.path)
            #expect(try stamp(moved) == before)
            try Data("two".utf8).write(to: file)
            #expect(try stamp(file) != before)
            let open = try FileSystem.system.open(moved.path)
            #expect(FileStamp(try FileSystem.system.openStatus(open)) == before)
            try FileSystem.system.truncate(open, 4)
            try FileSystem.system.close(open)
            #expect(try stamp(moved) != before)
        }
    }
}
