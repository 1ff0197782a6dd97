import HeadracePlatform
import Testing

@testable import Headrace

/// Merging the expectations of several requests for one file.
@Suite(.timeLimit(.minutes(4)))
struct FileExpectationsTests {
    @Test func `a size that came with piece hashes remains when later piece hashes replace them`() throws {
        let url = try #require(URL(string: "http://h/a"))
        let checksum = try #require(Checksum(.md5, bytes: Array(repeating: 7, count: 16)))
        func pieces(_ count: Int, fileSize: Int64? = nil) -> FileExpectations {
            FileExpectations(
                pieces: PieceHashes(length: 10, checksums: Array(repeating: checksum, count: count), fileSize: fileSize)
            )
        }
        let known = try pieces(2, fileSize: 15).adding(pieces(2), of: url)
        #expect(known.size == 15)
        #expect(throws: DownloadError.self) { try known.adding(FileExpectations(size: 16), of: url) }
        #expect(throws: DownloadError.self) { try pieces(2, fileSize: 15).adding(pieces(3), of: url) }
    }
}
