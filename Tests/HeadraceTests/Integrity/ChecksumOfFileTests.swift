import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Verification of existing files that may change meanwhile.
@Suite(.timeLimit(.minutes(4)))
struct ChecksumOfFileTests {
    /// A change to a file of three bytes after they were read.
    enum Change: CaseIterable {
        case longer
        case shorter
        case rewritten

        func make(at path: String) throws(SystemError) {
            let file = try FileSystem.system.open(path)
            switch self {
            case .longer: try FileSystem.system.truncate(file, 4)
            case .shorter: try FileSystem.system.truncate(file, 2)
            case .rewritten: try FileSystem.system.setModified(file, 1)
            }
            try FileSystem.system.close(file)
        }
    }

    /// Regression: the checksum of the old contents was reported for the changed file.
    @Test(arguments: Change.allCases)
    func `a file that changes while it is read is neither hashed nor verified`(
        _ change: Change
    ) async throws {
        let sum = try Checksum(.md5, of: Array("abc".utf8))
        let pieces = try #require(PieceHashes(length: 3, checksums: [sum]))
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            let calls: [(@escaping @Sendable (Int64, Int64) -> Void) async throws -> Bool] = [
                { try await Checksum.compute(.md5, ofFileAt: file, onProgress: $0) == sum },
                { try await pieces.wrongRanges(ofFileAt: file, onProgress: $0).isEmpty },
            ]
            for call in calls {
                try Data("abc".utf8).write(to: file)
                #expect(try await call { _, _ in })
                let error = await #expect(throws: DownloadError.self) {
                    try await call { bytes, _ in if bytes == 3 { try? change.make(at: file.path) } }
                }
                #expect(error?.code == .fileSystem)
                #expect(error?.message.contains("x was changed while it was read") == true)
            }
        }
    }

    #if os(Linux)
    /// Regression: such a file matched the checksum of no bytes.
    @Test func `a file with more bytes than its file system reports is rejected`() async throws {
        let file = URL(filePath: "/proc/version", directoryHint: .notDirectory)
        let pieces = try #require(PieceHashes(length: 3, checksums: [Checksum(.md5, of: [])]))
        for call: () async throws -> Void in [
            { _ = try await Checksum.compute(.md5, ofFileAt: file) },
            { _ = try await pieces.wrongRanges(ofFileAt: file) },
        ] {
            let error = await #expect(throws: DownloadError.self) { try await call() }
            #expect(error?.code == .fileSystem)
            #expect(error?.message.hasPrefix("/proc/version has more bytes than its file system reports") == true)
        }
    }
    #endif
}
