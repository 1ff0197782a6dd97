import Foundation
import Testing

/// The documentation's promises name the tests that hold them.
@Suite(.timeLimit(.minutes(4)))
struct DocumentationTests {
    private let tests = URL(filePath: #filePath).deletingLastPathComponent()

    /// The page, and the heading below which all that is between two backticks is the name of a test or a symbol.
    @Test(arguments: [
        ("ResumeAndDurability", "## What is promised", 10), ("Queues", "## The verbs", 4),
        ("Rates", "## What is promised", 7), ("Mirrors", "## What is promised", 10),
    ])
    func `every test that a promise names exists`(_ name: String, _ heading: String, _ least: Int) throws {
        let catalogue = tests.appending(path: "../../Sources/Headrace/Documentation.docc").standardized
        let page = catalogue.appending(path: "\(name).md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let promises = try #require(text.components(separatedBy: heading).dropFirst().first)
        // Names go over line ends; symbols are between two backticks each.
        let words = promises.replacingOccurrences(of: "``", with: "").split(whereSeparator: \.isWhitespace)
        let names = words.joined(separator: " ").components(separatedBy: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element).filter { $0.contains(" ") }
        let sources = try allSources()
        #expect(names.count >= least)
        let missing = names.filter { !sources.contains("func `\($0)`") }
        #expect(missing == [])
    }

    private func allSources() throws -> String {
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }
}
