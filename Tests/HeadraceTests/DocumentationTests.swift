import Foundation
import Testing

/// The documentation's promises name the tests that hold them.
@Suite(.timeLimit(.minutes(4)))
struct DocumentationTests {
    private let tests = URL(filePath: #filePath).deletingLastPathComponent()

    @Test func `every test that a promise names exists`() throws {
        let catalogue = tests.appending(path: "../../Sources/Headrace/Documentation.docc").standardized
        let page = catalogue.appending(path: "ResumeAndDurability.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let promises = try #require(text.components(separatedBy: "## What is promised").dropFirst().first)
            .components(separatedBy: "\n## ")[0]
        // Names go over line ends; symbols are between two backticks each.
        let words = promises.replacingOccurrences(of: "``", with: "").split(whereSeparator: \.isWhitespace)
        let names = words.joined(separator: " ").components(separatedBy: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        let sources = try allSources()
        #expect(names.count >= 10)
        let missing = names.filter { !sources.contains("func `\($0)`") }
        #expect(missing == [])
    }

    private func allSources() throws -> String {
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }
}
