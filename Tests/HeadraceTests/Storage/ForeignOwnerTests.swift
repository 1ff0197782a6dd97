import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Another user's files under our names in a world-writable folder.
@Suite(.timeLimit(.minutes(4)))
struct ForeignOwnerTests {
    private static let held = DiskFixture.held

    private enum Owner: Sendable, CaseIterable {
        case stranger
        case ownerOfFolder
    }

    /// A file system on which these files, but no later ones of the same names, belong to another user.
    private func calls(_ owner: Owner, of files: [URL], in folder: URL) throws -> FileSystem {
        let inodes = Set(try files.map { try #require(try FileSystem.system.status($0.path)).inode })
        let folderInode = try #require(try FileSystem.system.status(folder.path)).inode
        let seen: @Sendable (FileStatus) -> FileStatus = { status in
            var status = status
            if inodes.contains(status.inode) { status.owner = 12_345 }
            if status.inode == folderInode { status.owner = owner == .stranger ? 54_321 : 12_345 }
            return status
        }
        var calls = FileSystem.system
        calls.status = { path throws(SystemError) in try FileSystem.system.status(path).map(seen) }
        calls.openStatus = { file throws(SystemError) in seen(try FileSystem.system.openStatus(file)) }
        return calls
    }

    @Test func `another user's partial file is reported and not touched`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            let before = try FileProbe.bytes(of: partial)
            let files = try calls(.stranger, of: [partial, record], in: folder)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect(outcome.error?.code == .fileSystem)
            #expect(outcome.error?.message.contains("belongs to another user") == true)
            #expect(outcome.starts == [])
            #expect(try FileProbe.bytes(of: partial) == before)
        }
    }

    @Test func `another user's record is not trusted`() async throws {
        try await DiskFixture.withLeftovers { folder, _, record in
            let files = try calls(.stranger, of: [record], in: folder)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [0])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test func `files of the directory's owner are resumed`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            let files = try calls(.ownerOfFolder, of: [partial, record], in: folder)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [Self.held])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    /// Some servers map root to the user `nobody`.
    @Test(arguments: [12_345, 65_534] as [UInt32])
    func `files whose owner is the one our new files get are ours`(_ owner: UInt32) async throws {
        try await DiskFixture.withLeftovers { folder, _, _ in
            let folderInode = try #require(try FileSystem.system.status(folder.path)).inode
            let seen: @Sendable (FileStatus) -> FileStatus = { status in
                var status = status
                status.owner = status.inode == folderInode ? 0 : owner
                return status
            }
            var files = FileSystem.system
            files.status = { path throws(SystemError) in try FileSystem.system.status(path).map(seen) }
            files.openStatus = { file throws(SystemError) in seen(try FileSystem.system.openStatus(file)) }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [Self.held])
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    /// The state of a process that was killed just after it renamed its file.
    @Test(arguments: [true, false])
    func `a renamed file with its record is accepted unless it is another user's`(
        _ isOwn: Bool
    ) async throws {
        try await DiskFixture.withNamedLeftovers { folder, final in
            let files = isOwn ? .system : try calls(.stranger, of: [final], in: folder)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect(outcome.error == nil)
            #expect(outcome.starts == (isOwn ? [] : [0]))
            #expect(try FileProbe.names(in: folder) == (isOwn ? ["file.bin"] : ["file (1).bin", "file.bin"]))
        }
    }

    @Test(arguments: [false, true])
    func `if the owner cannot be determined, nothing is discarded`(_ isRecord: Bool) async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            var files = try calls(.stranger, of: [isRecord ? record : partial], in: folder)
            files.create = { _ throws(SystemError) in throw SystemError(errno: EMFILE) }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: files)
            #expect((outcome.error?.cause as? SystemError)?.errno == EMFILE)
            #expect(FileProbe.size(of: partial) == Self.held)
            #expect(try FileProbe.names(in: folder).count == 2)
        }
    }
}
