import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct HelpTests {
    @Test(arguments: Option.allCases)
    func `every option is in the table once and in the help`(_ option: Option) throws {
        let entries = Option.table.filter { $0.option == option }
        let entry = try #require(entries.first)
        #expect(entries.count == 1)
        let verb = try #require(Verb.table.first { $0.options.contains { $0.option == option } })
        let lines = Help.text(on: [verb]).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("--\(option.rawValue) ") })
        #expect(line.contains(entry.help))
        if let short = entry.short { #expect(line.contains("-\(short), ")) }
        if let argument = entry.argument { #expect(line.contains("--\(option.rawValue) \(argument) ")) }
    }

    @Test
    func `no two options share a letter`() {
        let letters = Option.table.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
    }

    @Test
    func `every command is in the help, and no line wraps on a wide terminal`() {
        let text = Help.text()
        for verb in Verb.table {
            #expect(text.contains("headrace \(verb.name) "))
            #expect(Help.text(on: [verb]).split(separator: "\n").allSatisfy { $0.count <= 120 })
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 })
        #expect(text.hasPrefix("Usage: headrace get [options] URL..."))
        #expect(Help.text(on: Verb.group("queue")).hasPrefix("Usage: headrace queue add [options] URL..."))
    }

    @Test
    func `the note on selecting downloads appears once in the help that needs it`() {
        for verbs in [Verb.table, Verb.group("queue")] + Verb.group("queue").map({ [$0] }) {
            let isWanted = verbs.count < Verb.table.count && verbs.contains { $0.operands == "ID..." }
            #expect(Help.text(on: verbs).split(separator: QueueSelector.notes).count == (isWanted ? 2 : 1))
        }
    }

    @Test
    func `the help of queue move does not offer what the command rejects`() throws {
        let move = try #require(Verb.table.first { $0.name == "queue move" })
        let text = Help.text(on: [move])
        for words in ["or all", "--group", "--state"] { #expect(!text.contains(words), "\(words)") }
    }

    @Test
    func `the help shows the library's defaults`() throws {
        let configuration = DownloadConfiguration()
        let text = Help.text(on: [try #require(Verb.table.first { $0.name == "get" })])
        #expect(text.contains("downloads at once (default: auto,"))
        #expect(text.contains("nothing for SECONDS (default: \(configuration.stallTimeout.components.seconds))"))
        #expect(text.contains("a connection (default: \(configuration.connectTimeout.components.seconds))"))
    }
}
