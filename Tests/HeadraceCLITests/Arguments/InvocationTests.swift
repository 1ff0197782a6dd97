import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct InvocationTests {
    @Test(
        arguments: [
            ("", []), ("a\0", ["a"]), ("a\0b", ["a", "b"]), ("a\0\0b c\0", ["a", "", "b c"]), ("a\0\0", ["a", ""]),
        ] as [(String, [String])]
    )
    func `the arguments are read from the process's command line`(_ line: String, _ arguments: [String]) {
        #expect(ProcessArguments.split(Array(line.utf8)) == arguments.map { Array($0.utf8) })
    }

    @Test(arguments: [["--help"], ["-h"], ["get", "--help"], ["get", "-h", "--jobs", "many"], ["get", "-qh", "x"]])
    func `help is requested for before and after the command`(_ line: [String]) throws {
        guard case .help = try Invocation(line) else { return #expect(Bool(false), "no help") }
    }

    @Test(arguments: [
        (["-h"], Verb.table.map(\.name)), (["get", "--help"], ["get"]),
        (["queue", "-h"], Verb.group("queue").map(\.name)),
        (["queue", "add", "--help"], ["queue add"]), (["queue", "move", "-h", "x"], ["queue move"]),
        (["help"], Verb.table.map(\.name)), (["help", "help"], Verb.table.map(\.name)), (["help", "get"], ["get"]),
        (["help", "queue"], Verb.group("queue").map(\.name)), (["help", "queue", "pause"], ["queue pause"]),
        (["help", "queue", "rm"], ["queue remove"]),
    ])
    func `help is that on the command`(_ line: [String], names: [String]) throws {
        guard case .help(let verbs) = try Invocation(line) else { return #expect(Bool(false), "no help") }
        #expect(verbs.map(\.name) == names)
    }

    @Test
    func `a command of two words gets what follows both`() throws {
        guard case .verb(let verb, let arguments) = try Invocation(["queue", "pause", "%1", "%2"]) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == "queue pause")
        #expect(arguments.operands == ["%1", "%2"])
    }

    @Test(arguments: [(["queue", "ls", "--json"], "queue list"), (["queue", "rm", "%1"], "queue remove")])
    func `a command is found by the word that others have for it`(_ line: [String], name: String) throws {
        guard case .verb(let verb, let arguments) = try Invocation(line) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == name)
        #expect(arguments.has(.json) || arguments.operands == ["%1"])
    }

    @Test(arguments: [["--version"], ["version"], ["get", "--version"], ["queue", "--version"]])
    func `the version is requested for before and after the command`(_ line: [String]) throws {
        guard case .version = try Invocation(line) else { return #expect(Bool(false), "no version") }
    }

    @Test
    func `a command gets what follows it`() throws {
        guard case .verb(let verb, let arguments) = try Invocation(["get", "-q", "u"]) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == "get")
        #expect(arguments.operands == ["u"])
    }

    @Test(arguments: [
        ([], "a command is missing; headrace --help lists them"),
        (["fetch"], "fetch: there is no such command; headrace --help lists them"),
        (["gte"], "gte: there is no such command; did you mean get?"),
        (["list"], "list: there is no such command; did you mean queue list?"),
        (["queue", "lst"], "queue lst: there is no such command; did you mean queue list?"),
        (["help", "gte"], "gte: there is no such command; did you mean get?"),
        (["-q"], "a command goes before -q; headrace --help lists them"),
        (["http://h/x"], "a command goes before the URL: headrace get http://h/x"),
        (["queue"], "queue: a command is missing; headrace queue --help lists them"),
        (["queue", "fetch"], "queue fetch: there is no such command; headrace queue --help lists them"),
        (["queue", "--json", "list"], "queue: a command goes before --json; headrace queue --help lists them"),
        (
            ["queue", "http://u:secret@h/x"],
            "queue http://***@h/x: there is no such command; headrace queue --help lists them"
        ),
        (["queue", "run", "--begin", "+1h"], "--begin: there is no such option"),
        (["http://u:secret@h/x"], "a command goes before the URL: headrace get http://***@h/x"),
    ])
    func `a line without a command is refused`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try Invocation(line) }
    }
}
