import Foundation
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct CompletionsTests {
    @Test(arguments: Completions.Shell.allCases)
    func `every command and option is completed`(_ shell: Completions.Shell) {
        let script = Completions.script(for: shell)
        for verb in Verb.table {
            for word in verb.words { #expect(script.contains(word)) }
            for entry in verb.options { #expect(script.contains(entry.option.rawValue)) }
        }
    }

    /// Checks the syntax with each installed shell.
    @Test(arguments: [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
    func `the script is valid for its shell`(_ name: String, _ options: [String]) async throws {
        guard let path = Shell.path(name) else { return }
        let shell = try #require(Completions.Shell(rawValue: name))
        let result = try await Shell.run(path, options, Completions.script(for: shell))
        #expect(result == Shell.Result(end: .exit(status: 0), output: ""))
    }

    @Test(arguments: [
        (["headrace", "q"], "queue"), (["headrace", "queue", "mo"], "move"),
        (["headrace", "get", "--if-e"], "--if-exists"),
        (["headrace", "get", "--if-exists", "o"], "overwrite"), (["headrace", "queue", "list", "--sta"], "--state"),
        (["headrace", "queue", "list", "--state", "fai"], "failed"),
        (["headrace", "get", "-j", ""], "auto"), (["headrace", "completions", "z"], "zsh"),
        (["headrace", "get", "--header", "x"], ""), (["headrace", "get", "-d", "/us"], "/usr"),
        (["headrace", "queue", "list", "--out"], ""),
    ])
    func `bash completes a partial word`(_ line: [String], _ expected: String) async throws {
        let path = try #require(Shell.path("bash"))
        let words = line.map(Completions.quoted).joined(separator: " ")
        let call = "COMP_WORDS=(\(words)); COMP_CWORD=\(line.count - 1); _headrace; echo \"${COMPREPLY[*]}\""
        let result = try await Shell.run(path, ["--norc"], Completions.script(for: .bash) + call + "\n")
        #expect(result == Shell.Result(end: .exit(status: 0), output: expected + "\n"))
    }

    /// Regression: blanks split the name, and the star was expanded.
    @Test(arguments: [["get", "-o"], ["get", "-d"], ["verify"]])
    func `bash completes a name with blanks and stars as one word`(_ words: [String]) async throws {
        let path = try #require(Shell.path("bash"))
        let line = ["headrace"] + words + ["a"]
        let call =
            "mkdir 'a * b'; COMP_WORDS=(\(line.joined(separator: " "))); COMP_CWORD=\(line.count - 1); _headrace; "
            + "printf '<%s>' \"${COMPREPLY[@]}\""
        let script = "cd \"$HOME\"\n" + Completions.script(for: .bash) + call + "\n"
        let result = try await Shell.run(path, ["--norc"], script)
        #expect(result == Shell.Result(end: .exit(status: 0), output: "<a * b>"))
    }

    /// With a blank as the completion, zsh would insert an option.
    @Test
    func `the zsh script marks attached arguments and offers nothing for free text`() {
        let script = Completions.script(for: .zsh)
        #expect(script.contains("'*--if-exists=''[") && script.contains("'*'{-o+,--output=}'["))
        #expect(script.contains("'*:URL...:()'") && !script.contains(": '"))
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
