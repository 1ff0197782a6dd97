import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(1)))
struct OpenFileTests {
    /// Regression: the calls of the system opened the file, whatever those of the manager were.
    @Test func `a file is opened by the calls of its manager`() async throws {
        var image = DiskImage()
        image.names["/downloads/a"] = 1
        image.files[1] = [1, 2, 3]
        let file = try OpenFile("/downloads/a", followingLinks: false, calls: MemoryDisk(image).calls)
        let found = try await file.checksum(.crc32)
        #expect(found == (try Checksum(.crc32, of: [1, 2, 3])))
    }
}
