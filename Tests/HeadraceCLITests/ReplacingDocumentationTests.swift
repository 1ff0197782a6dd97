import Foundation
import Testing

@testable import HeadraceCLI

/// The page on replacing other tools names only options and exit statuses that the tool has.
@Suite(.timeLimit(.minutes(4)))
struct ReplacingDocumentationTests {
    private static func page(_ name: String = "ReplacingCurl") throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let page = root.appending(path: "Sources/Headrace/Documentation.docc/\(name).md")
        return try String(contentsOf: page, encoding: .utf8)
    }

    /// The last cells of the table with the options of all tools.
    private static func cells() throws -> [Substring] {
        try page().split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            return cells.count == 7 && line.hasPrefix("| ") ? cells[5] : nil
        }
    }

    @Test func `each option in the table is one of the tool's`() throws {
        let cells = try Self.cells().dropFirst().filter { !$0.contains("headrace queue") }
        let options = try #require(Verb.table.first { $0.name == "get" }).options
        let names = cells.flatMap { $0.matches(of: /--([a-z][a-z0-9.-]*)/).map { String($0.1) } }
        #expect(names.count >= 20)
        #expect(names.filter { name in !options.contains { $0.option.rawValue == name } } == [])
        let letters = cells.flatMap { $0.matches(of: /[` ]-([a-z])\b/).map { String($0.1) } }
        #expect(letters.count >= 6)
        #expect(letters.filter { letter in !options.contains { $0.short.map(String.init) == letter } } == [])
    }

    @Test(arguments: [("ReplacingCurl", 5), ("Recipes", 9)])
    func `the commands on the page are parsed`(_ name: String, count: Int) throws {
        let lines = try Self.page(name).replacing("\\\n", with: "").split(separator: "\n")
            .filter { $0.hasPrefix("    ") }
        // The last command of a pipeline, or one that a configuration file contains.
        let commands = lines.compactMap { line in line.firstRange(of: "headrace ").map { line[$0.lowerBound...] } }
        #expect(commands.count == count)
        for command in commands {
            let invocation = try Invocation(Array(Self.words(command).dropFirst()))
            guard case .verb(_, let arguments) = invocation, arguments.operands.count <= 1 else {
                Issue.record("\(command)")
                continue
            }
        }
    }

    /// The words of the first command of a line for the shell; `$(...)` in double quotes is kept as it is.
    private static func words(_ command: Substring) -> [String] {
        var words = [""]
        var quote: Character?
        for character in command {
            switch (character, quote) {
            case ("'", nil), ("\"", nil): quote = character
            case (character, character): quote = nil
            case (" ", nil): words.append("")
            case ("|", nil), ("&", nil): return words.filter { !$0.isEmpty }
            default: words[words.count - 1].append(character)
            }
        }
        return words.filter { !$0.isEmpty }
    }

    @Test func `each exit status is in the table`() throws {
        let page = try Self.page()
        let statuses: [ExitCode] = [
            .success, .other, .usage, .network, .refused, .disk, .checksum, .brokenProtocol,
        ]
        for status in statuses { #expect(page.contains("\n| \(status.code) | ")) }
        #expect(page.contains("\n| 129, 130, 131, 143 | "))
    }
}
