import Foundation
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct CompletionsTests {
    @Test
    func `every command and option is completed`() {
        for verb in Verb.table {
            for (index, word) in verb.words.enumerated() {
                let candidates = Completions.candidates(for: verb.words.prefix(index) + [""])
                #expect(candidates.map(\.word).contains(word))
            }
            let options = Completions.candidates(for: verb.words + ["-"])
            #expect(options.map(\.word) == verb.options.flatMap(\.names))
            #expect(options.allSatisfy { !$0.help.isEmpty })
        }
    }

    @Test(arguments: [
        (["queue", "a"], ["add", "list", "run", "pause", "resume", "retry", "cancel"]), (["-"], ["--version", "-h"]),
        (["get", "--if-exists", "o"], ["rename", "overwrite", "skip", "fail"]), (["get", "-j", ""], ["auto"]),
        (["get", "--if-exists=o"], ["rename", "overwrite", "skip", "fail"]), (["get", "--output="], [":files"]),
        (["get", "-d", "/us"], [":directories"]), (["get", "--header", "x"], []), (["get", "--quiet", "x"], []),
        (["verify", ""], [":files"]), (["completions", "z"], ["bash", "zsh", "fish"]), (["unknown", ""], []),
        (["get", "--no-such-option="], ["-o", "--output"]),
    ])
    func `the candidates depend on the words before`(_ line: [String], _ first: [String]) {
        let candidates = Completions.candidates(for: line).map(\.word)
        #expect(Array(candidates.prefix(first.isEmpty ? 1 : first.count)) == first)
    }

    @Test
    func `a line has the description in the form of the shell`() {
        let lines = Completions.Shell.allCases.map(Completions.Candidate(word: "get", help: "a: b").line)
        #expect(lines == ["get", "get:a: b", "get\ta: b"])
        #expect(Completions.Shell.allCases.map(Completions.Candidate.files.line) == [":files", ":files", ":files"])
    }

    /// Checks the syntax with each installed shell.
    @Test(arguments: [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
    func `the script is valid for its shell`(_ name: String, _ options: [String]) async throws {
        guard let path = Shell.path(name) else { return }
        let shell = try #require(Completions.Shell(rawValue: name))
        let result = try await Shell.run(path, options, shell.script)
        #expect(result == Shell.Result(end: .exit(status: 0), output: ""))
    }

    @Test(arguments: [
        (["q"], "queue"), (["queue", "mo"], "move"), (["get", "--if-exists", "o"], "overwrite"),
        (["get", "-d", "/us"], "/usr"), (["queue", "list", "--out"], ""),
    ])
    func `bash completes a partial word`(_ words: [String], _ expected: String) async throws {
        let result = try await bash(completing: words, "echo \"${COMPREPLY[*]}\"")
        #expect(result == Shell.Result(end: .exit(status: 0), output: expected + "\n"))
    }

    /// Regression: blanks split the name, and the star was expanded.
    @Test(arguments: [["get", "-o"], ["get", "-d"], ["verify"]])
    func `bash completes a name with blanks and stars as one word`(_ words: [String]) async throws {
        let result = try await bash(completing: words + ["a"], "printf '<%s>' \"${COMPREPLY[@]}\"")
        #expect(result == Shell.Result(end: .exit(status: 0), output: "<a * b>"))
    }

    /// Runs the completion function of bash in a folder with the directory `a * b`, then the command `output`.
    private func bash(completing words: [String], _ output: String) async throws -> Shell.Result {
        let lines = [
            "cd \"$HOME\"", "mkdir 'a * b'", "headrace() { '\(ToolProcess.toolPath)' \"$@\"; }",
            Completions.Shell.bash.script,
            "COMP_WORDS=(headrace \(words.joined(separator: " "))); COMP_CWORD=\(words.count); _headrace", output,
        ]
        let path = try #require(Shell.path("bash"))
        return try await Shell.run(path, ["--norc"], lines.joined(separator: "\n") + "\n")
    }

    @Test(arguments: [
        ("queue mo", "move\tmove a download to another position in the queue"),
        ("get --if-exists=ov", "--if-exists=overwrite"), ("get -d /us", "/usr/\tDirectory"),
        ("get --directory=/us", "--directory=/usr/\tDirectory"),
    ])
    func `fish completes a partial word`(_ words: String, _ expected: String) async throws {
        guard let path = Shell.path("fish") else { return }
        let start = "function headrace; '\(ToolProcess.toolPath)' $argv; end\n"
        let script = start + Completions.Shell.fish.script + "complete -C 'headrace \(words)'\n"
        let result = try await Shell.run(path, [], script)
        #expect(result == Shell.Result(end: .exit(status: 0), output: expected + "\n"))
    }

    @Test
    func `an unknown shell is rejected with the list of supported ones`() async {
        await #expect(throws: UsageError("completions: expected one of bash, zsh, fish")) {
            guard case .verb(let verb, let arguments) = try Invocation(["completions", "tcsh"]) else { return }
            _ = try await verb.run(arguments)
        }
    }
}

/// Runs scripts with a shell of this machine.
private enum Shell {
    struct Result: Equatable {
        var end: ChildProcess.End
        var output: String
    }

    static func path(_ name: String) -> String? {
        ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"].map { $0 + name }
            .first(where: FileManager.default.isExecutableFile)
    }

    static func run(_ path: String, _ options: [String], _ script: String) async throws -> Result {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "script")
            try Data(script.utf8).write(to: file)
            let output = folder.appending(path: "output")
            var process = try ChildProcess(
                [path] + options + [file.path],
                environment: ["PATH=/usr/bin:/bin", "HOME=\(folder.path)"],
                streams: ["/dev/null", output.path, output.path]
            )
            let end = try await process.waitForEnd()
            return Result(end: end, output: String(decoding: try Data(contentsOf: output), as: UTF8.self))
        }
    }
}
