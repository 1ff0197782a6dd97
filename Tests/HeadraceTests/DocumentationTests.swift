import Foundation
import Headrace
import HeadraceTestSupport
import Testing

func copy(_ download: Download, from offset: Int64, to output: FileHandle) async throws {
    for try await bytes in download.bytes(in: offset...) {
        try output.write(contentsOf: bytes)
    }
}

/// The documentation names the test behind each promise.
@Suite(.timeLimit(.minutes(4)), .computing)
struct DocumentationTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    /// The sources of all tests, read once.
    private static let sources = Result {
        let files = FileManager.default.enumerator(
            at: tests.deletingLastPathComponent(),
            includingPropertiesForKeys: nil
        )
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }
    private static let testNames = sources.map { sources in
        Set(sources.components(separatedBy: "func `").dropFirst().map { $0.prefix { $0 != "`" } })
    }
    private var library: URL { Self.tests.appending(path: "../../Sources/Headrace").standardized }

    /// Each word between single backticks on the developers' page names a test or a symbol.
    @Test func `every test named in the documentation exists`() throws {
        let promises = try text(of: "Coverage")
            .components(separatedBy: "```").enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined()
        // Names may wrap over lines; symbols are between double backticks.
        let words = promises.replacingOccurrences(of: "``", with: "").split(whereSeparator: \.isWhitespace)
        let names = words.joined(separator: " ").components(separatedBy: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element).filter { $0.contains(" ") }
        let tests = try Self.testNames.get()
        #expect(names.count >= 250)
        let missing = names.filter { !tests.contains($0[...]) }
        #expect(missing == [])
    }

    @Test func `the table of failures has every error code`() throws {
        let source = try String(contentsOf: library.appending(path: "Model/DownloadError.swift"), encoding: .utf8)
        let codes = source.matches(of: /static let (\w+) = Code\("(\w+)"\)/)
        #expect(codes.allSatisfy { $0.1 == $0.2 })
        let names = codes.map { String($0.1) }
        #expect(names.count > 20)
        let errors = try text(of: "Errors")
        #expect(names.filter { !errors.contains("\n| `\($0)` |") } == [])
        let page = try text(of: "Retries")
        #expect(names.filter { $0 != "unknownDownload" && !page.contains("`\($0)`") } == [])
    }

    @Test func `every sample in the documentation compiles in these tests`() throws {
        let sources = try Self.lines(of: Self.sources.get()).joined(separator: "\n")
        let catalogue = library.appending(path: "Documentation.docc")
        let names = try FileManager.default.contentsOfDirectory(atPath: catalogue.path).filter { $0.hasSuffix(".md") }
        var count = 0
        for name in names {
            let text = try String(contentsOf: catalogue.appending(path: name), encoding: .utf8)
            for sample in text.components(separatedBy: "```swift\n").dropFirst() {
                let lines = Self.lines(of: try #require(sample.components(separatedBy: "```").first))
                #expect(sources.contains(lines.joined(separator: "\n")), "\(name): \(lines)")
                count += 1
            }
        }
        #expect(count >= 10)
    }

    @Test func `the table of platforms names every file in which they differ`() throws {
        let page = try text(of: "Platforms")
        let folder = library.deletingLastPathComponent()
        let differences = ["#if canImport(", "#if os(", "#elseif canImport("]
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(files.count > 200)
        let missing = try files.filter { file in
            guard !file.contains("/Transport/Curl/"), !page.contains("`\(file.split(separator: "/").last ?? "")`")
            else {
                return false
            }
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            return differences.contains(where: text.contains)
        }
        #expect(missing == [])
    }

    /// The nonempty lines without their indentation.
    private static func lines(of text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    }

    @Test func `the sample copies the bytes after an offset`() async throws {
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
        let catalogue = library.appending(path: "Documentation.docc")
        return try String(contentsOf: catalogue.appending(path: "\(page).md"), encoding: .utf8)
    }
}
