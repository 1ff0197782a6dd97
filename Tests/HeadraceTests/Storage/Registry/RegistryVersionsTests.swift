import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The validators that a registry saves for files on file systems without extended attributes.
@Suite(.timeLimit(.minutes(4)))
struct RegistryVersionsTests {
    private static func line(_ number: Int = 1) -> [UInt8] {
        Array("1 4b0fcd5ea7d2b4a3 \"v\(number)\"".utf8)
    }

    private static func tag(_ number: Int = 1) throws -> Precondition {
        .noneMatch(try #require(EntityTag(parsing: "\"v\(number)\"")))
    }

    private static func file(_ folder: URL) -> URL { folder.appending(path: RegistryVersions.fileName) }

    @Test func `the last validator of a path is found, also by the next process`() async throws {
        try await withTemporaryDirectory { folder in
            let versions = RegistryVersions(in: folder.path, calls: .unsynced)
            #expect(versions.version(of: "/a", inode: 1) == nil)
            versions.keep(Self.line(1), of: "/a", inode: 1)
            versions.keep(Self.line(2), of: "/b \n", inode: 2)
            versions.keep(Self.line(3), of: "/a", inode: 3)
            let (a, b) = (try Self.tag(3), try Self.tag(2))
            for versions in [versions, RegistryVersions(in: folder.path, calls: .unsynced)] {
                #expect(versions.version(of: "/a", inode: 3)?.condition == a)
                #expect(versions.version(of: "/b \n", inode: 2)?.condition == b)
            }
        }
    }

    @Test func `another file at the same path has no validator`() async throws {
        try await withTemporaryDirectory { folder in
            let versions = RegistryVersions(in: folder.path, calls: .unsynced)
            versions.keep(Self.line(), of: "/a", inode: 11)
            #expect(versions.version(of: "/a", inode: 11) != nil)
            for inode: UInt64 in [0, 1, 111] { #expect(versions.version(of: "/a", inode: inode) == nil) }
            #expect(versions.version(of: "/A", inode: 11) == nil)
        }
    }

    /// A crash in the middle of a line or garbage between lines loses only that line.
    @Test func `an invalid or torn line is ignored`() async throws {
        try await withTemporaryDirectory { folder in
            RegistryVersions(in: folder.path, calls: .unsynced).keep(Self.line(1), of: "/a", inode: 1)
            let tag = try Self.tag(2)
            let whole = try FileProbe.bytes(of: Self.file(folder))
            for count in 0..<whole.count {
                try Data(whole.prefix(count) + [0, 0xff]).write(to: Self.file(folder))
                let versions = RegistryVersions(in: folder.path, calls: .unsynced)
                #expect(versions.version(of: "/a", inode: 1) == nil)
                versions.keep(Self.line(2), of: "/b", inode: 2)
                let next = RegistryVersions(in: folder.path, calls: .unsynced)
                #expect(next.version(of: "/b", inode: 2)?.condition == tag)
            }
        }
    }

    @Test func `the file never exceeds its limit, and the newest validators stay`() async throws {
        try await withTemporaryDirectory { folder in
            let versions = RegistryVersions(in: folder.path, calls: .unsynced)
            let long = Array("1 4b0fcd5ea7d2b4a3 \"\(String(repeating: "x", count: 900))\"".utf8)
            let count = 2 * RegistryVersions.maxBytes / long.count
            var largest: Int64 = 0
            for index in 0..<count {
                versions.keep(long, of: "/\(index)", inode: 1)
                largest = max(largest, try #require(try FileSystem.system.status(Self.file(folder).path)).size)
            }
            #expect(largest <= Int64(RegistryVersions.maxBytes) && largest > Int64(RegistryVersions.maxBytes / 2))
            for versions in [versions, RegistryVersions(in: folder.path, calls: .unsynced)] {
                #expect(versions.version(of: "/0", inode: 1) == nil)
                for index in count - 400..<count { #expect(versions.version(of: "/\(index)", inode: 1) != nil) }
            }
            #expect(try FileProbe.names(in: folder) == [RegistryVersions.fileName])
        }
    }

    @Test func `a validator that cannot be written is not stored, and the old one stays`() async throws {
        try await withTemporaryDirectory { folder in
            RegistryVersions(in: folder.path, calls: .unsynced).keep(Self.line(1), of: "/a", inode: 1)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if case .write = call { throw SystemError(errno: ENOSPC) }
            }
            let tag = try Self.tag(1)
            let versions = RegistryVersions(in: folder.path, calls: recorder.fileCalls)
            versions.keep(Self.line(2), of: "/a", inode: 2)
            #expect(versions.version(of: "/a", inode: 2) == nil)
            #expect(versions.version(of: "/a", inode: 1)?.condition == tag)
        }
    }

    @Test func `a link at its name is not followed`() async throws {
        try await withTemporaryDirectory { folder in
            let other = folder.appending(path: "other")
            try Data(Self.line()).write(to: other)
            try FileManager.default.createSymbolicLink(at: Self.file(folder), withDestinationURL: other)
            let versions = RegistryVersions(in: folder.path, calls: .unsynced)
            versions.keep(Self.line(2), of: "/a", inode: 1)
            #expect(versions.version(of: "/a", inode: 1) == nil)
            #expect(try FileProbe.bytes(of: other) == Self.line())
        }
    }
}
