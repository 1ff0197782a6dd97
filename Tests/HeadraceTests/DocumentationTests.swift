import Foundation
import Headrace
import HeadraceTestSupport
import Testing

// sample begin
func copy(_ download: Download, from offset: Int64, to output: FileHandle) async throws {
    for try await bytes in download.bytes(in: offset...) {
        try output.write(contentsOf: bytes)
    }
}
// sample end

/// The documentation's promises name the tests that hold them.
@Suite(.timeLimit(.minutes(4)))
struct DocumentationTests {
    private let tests = URL(filePath: #filePath).deletingLastPathComponent()

    /// The page, and the heading below which all that is between two backticks is the name of a test or a symbol.
    @Test(arguments: [
        ("ResumeAndDurability", "## What is promised", 10), ("Queues", "## The verbs", 4),
        ("Rates", "## What is promised", 7), ("Mirrors", "## What is promised", 10),
        ("Reading", "## What is promised", 5),
        ("Integrity", "## What is promised", 16),
        ("Names", "## What is promised", 16),
    ])
    func `every test that a promise names exists`(_ name: String, _ heading: String, _ least: Int) throws {
        let promises = try #require(text(of: name).components(separatedBy: heading).dropFirst().first)
        // Names go over line ends; symbols are between two backticks each.
        let words = promises.replacingOccurrences(of: "``", with: "").split(whereSeparator: \.isWhitespace)
        let names = words.joined(separator: " ").components(separatedBy: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element).filter { $0.contains(" ") }
        let sources = try allSources()
        #expect(names.count >= least)
        let missing = names.filter { !sources.contains("func `\($0)`") }
        #expect(missing == [])
    }

    @Test func `the page on reading shows the sample above`() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let sample = try #require(
            source.split(separator: "// sample begin\n").dropFirst().first?.split(separator: "// sample end").first
        )
        #expect(try text(of: "Reading").contains("```swift\n\(sample)```"))
    }

    @Test func `the sample copies what is behind an offset`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let copied = folder.appending(path: "copy")
                try Data().write(to: copied)
                let output = try FileHandle(forWritingTo: copied)
                try await withDownloadManager { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/hello.txt"), to: .directory(folder))
                    )
                    try await copy(download, from: 2, to: output)
                }
                try output.close()
                #expect(try FileProbe.bytes(of: copied) == Array("llo".utf8))
            }
        }
    }

    private func text(of page: String) throws -> String {
        let catalogue = tests.appending(path: "../../Sources/Headrace/Documentation.docc").standardized
        return try String(contentsOf: catalogue.appending(path: "\(page).md"), encoding: .utf8)
    }

    private func allSources() throws -> String {
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }
}
