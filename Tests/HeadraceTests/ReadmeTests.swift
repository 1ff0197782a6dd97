import Foundation
import Headrace
import HeadraceTestSupport
import Testing

// sample begin
func fetch(_ url: URL, into folder: URL) async throws -> URL {
    try await withDownloadManager { manager in
        let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
        for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
        return try await download.value
    }
}
// sample end

/// The README's sample must be identical to the one above.
@Suite(.timeLimit(.minutes(4)))
struct ReadmeTests {
    private let source = URL(filePath: #filePath)

    @Test func `the README shows the sample above`() throws {
        let text = try String(contentsOf: source, encoding: .utf8)
        let sample = try #require(
            text.split(separator: "// sample begin\n").dropFirst().first?.split(separator: "// sample end").first
        )
        let readme = source.deletingLastPathComponent().appending(path: "../../README.md").standardized
        #expect(try String(contentsOf: readme, encoding: .utf8).contains("import Headrace\n\n\(sample)```"))
    }

    @Test func `the sample downloads a file`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let file = try await fetch(server.url("/hello.txt"), into: folder)
                #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
            }
        }
    }
}
