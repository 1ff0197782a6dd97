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
    func `help is recognized before and after the command`(_ line: [String]) throws {
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
    func `help is shown for the named commands`(_ line: [String], names: [String]) throws {
        guard case .help(let verbs) = try Invocation(line) else { return #expect(Bool(false), "no help") }
        #expect(verbs.map(\.name) == names)
    }

    @Test
    func `a command of two words receives the arguments after both`() throws {
        guard case .verb(let verb, let arguments) = try Invocation(["queue", "pause", "%1", "%2"]) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == "queue pause")
        #expect(arguments.operands == ["%1", "%2"])
    }

    @Test(arguments: [(["queue", "ls", "--json"], "queue list"), (["queue", "rm", "%1"], "queue remove")])
    func `a command is found by the name that other tools use`(_ line: [String], name: String) throws {
        guard case .verb(let verb, let arguments) = try Invocation(line) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == name)
        #expect(arguments.has(.json) || arguments.operands == ["%1"])
    }

    @Test(arguments: [["--version"], ["version"], ["get", "--version"], ["queue", "--version"]])
    func `the version is recognized before and after the command`(_ line: [String]) throws {
        guard case .version = try Invocation(line) else { return #expect(Bool(false), "no version") }
    }

    @Test
    func `a command receives the arguments after it`() throws {
        guard case .verb(let verb, let arguments) = try Invocation(["get", "-q", "u"]) else {
            return #expect(Bool(false), "no command")
        }
        #expect(verb.name == "get")
        #expect(arguments.operands == ["u"])
    }

    @Test(arguments: [
        ([], "no command given; see headrace --help"),
        (["fetch"], "fetch: no such command; see headrace --help"),
        (["gte"], "gte: no such command; did you mean get?"),
        (["list"], "list: no such command; did you mean queue list?"),
        (["queue", "lst"], "queue lst: no such command; did you mean queue list?"),
        (["help", "gte"], "gte: no such command; did you mean get?"),
        (["-q"], "a command must come before -q; see headrace --help"),
        (["http://h/x"], "a command must come before the URL: headrace get http://h/x"),
        (["queue"], "queue: no command given; see headrace queue --help"),
        (["queue", "fetch"], "queue fetch: no such command; see headrace queue --help"),
        (["queue", "--json", "list"], "queue: a command must come before --json; see headrace queue --help"),
        (
            ["queue", "http://u:secret@h/x"],
            "queue http://***@h/x: no such command; see headrace queue --help"
        ),
        (["queue", "run", "--begin", "+1h"], "--begin: no such option"),
        (["http://u:secret@h/x"], "a command must come before the URL: headrace get http://***@h/x"),
    ])
    func `a command line without a command is rejected`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try Invocation(line) }
    }
}
