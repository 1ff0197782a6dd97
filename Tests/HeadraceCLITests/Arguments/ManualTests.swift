import Foundation
import Headrace
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ManualTests {
    private static let page = Manual.page()
    private static let lines = page.split(separator: "\n").map(String.init)

    @Test func `the manual page has each command and each option with its help`() {
        for verb in Verb.table {
            let name = verb.name.replacing("-", with: "\\-")
            #expect(Self.lines.contains { $0.hasPrefix("\\fBheadrace \(name)\\fR [options]") })
            #expect(Self.lines.contains { $0.hasPrefix(".SS headrace \(name)") })
            #expect(Self.lines.contains(Manual.roman(verb.summary) + "."))
        }
        for entry in Option.table {
            let name = "--\(entry.option.rawValue)".replacing("-", with: "\\-")
            let index = Self.lines.firstIndex { $0.contains("\\fB\(name)\\fR") && !$0.hasPrefix("Options: ") }
            #expect(index.map { Self.lines[$0 - 1] } == ".TP")
            #expect(index.map { Self.lines[$0 + 1] } == Manual.roman(entry.help))
        }
    }

    @Test func `each line of the manual page is text or a known macro`() throws {
        let macros: Set = [".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"]
        var isFilled = true
        for line in Self.lines {
            if line.hasPrefix(".") || line.hasPrefix("'") {
                #expect(macros.contains(String(line.prefix { $0 != " " })), "\(line)")
                if line == ".nf" || line == ".fi" {
                    #expect(isFilled == (line == ".nf"), "\(line)")
                    isFilled = line == ".fi"
                }
            }
            let escapes = line.matches(of: /\\(?:\(..|f[BIR]|.)/).map { String($0.0) }
            #expect(escapes.allSatisfy { ["\\-", "\\&", "\\fB", "\\fI", "\\fR"].contains($0) || $0.hasPrefix("\\(") })
            #expect(escapes.count { $0 == "\\fR" } == escapes.count { $0 == "\\fB" || $0 == "\\fI" })
            #expect(line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
        }
        #expect(isFilled)
        #expect(Manual.roman(".a\n'b\nc-\\") == "\\&.a\n\\&\\(aqb\nc\\-\\(rs")
    }

    /// Formats the page with each installed program, which prints warnings to standard error.
    @Test(arguments: [
        ["/usr/bin/groff", "-man", "-Tascii", "-ww", "-z"], ["/usr/bin/man", "--warnings", "-l"],
        ["/usr/bin/mandoc", "-Tlint", "-Wwarning"],
    ])
    func `the manual page is formatted without warnings`(_ words: [String]) async throws {
        guard access(words[0], X_OK) == 0 else { return }
        try await withTemporaryDirectory { folder in
            let files = ["headrace.1", "out", "err"].map { folder.appending(path: $0).path(percentEncoded: false) }
            try Data(Self.page.utf8).write(to: folder.appending(path: "headrace.1"))
            var process = try ChildProcess(
                words + [files[0]],
                environment: ["LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "MANWIDTH=200"],
                streams: ["/dev/null", files[1], files[2]]
            )
            #expect(try await process.waitForEnd() == .exit(status: 0))
            #expect(try String(contentsOf: folder.appending(path: "err"), encoding: .utf8) == "")
            if words[0].hasSuffix("mandoc") {
                #expect(try String(contentsOf: folder.appending(path: "out"), encoding: .utf8) == "")
            }
        }
    }
}
