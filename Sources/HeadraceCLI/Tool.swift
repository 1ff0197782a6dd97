import Headrace

/// The command line tool: finds the verb, runs it, and ends with its exit status.
@main
struct Tool {
    static func main() async {
        let status: ExitCode
        do throws(UsageError) {
            status = try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Console.error.write("headrace: \(error.message.printable)\n")
            status = .usage
        }
        Console.exit(status)
    }

    private static func run(_ arguments: [String]) async throws(UsageError) -> ExitCode {
        switch try Invocation(arguments) {
        case .help: return Console.output.write(Help.text() + "\n") ? .success : .disk
        case .version: return Console.output.write("headrace \(headraceVersion)\n") ? .success : .disk
        case .verb(let verb, let arguments): return try await verb.run(arguments)
        }
    }
}

/// What a command line asks for.
enum Invocation {
    case help
    case version
    case verb(Verb, ParsedArguments)

    init(_ arguments: [String], verbs: [Verb] = Verb.table) throws(UsageError) {
        guard let first = arguments.first else { throw UsageError("a command is missing; headrace --help lists them") }
        guard let verb = verbs.first(where: { $0.name == first }) else {
            self = try Invocation(withoutVerb: first, arguments)
            return
        }
        let parsed = try ParsedArguments(Array(arguments.dropFirst()), table: verb.options)
        if parsed.has(.help) {
            self = .help
        } else if parsed.has(.version) {
            self = .version
        } else {
            self = .verb(verb, parsed)
        }
    }

    private init(withoutVerb first: String, _ arguments: [String]) throws(UsageError) {
        switch first {
        case "-h", "--help": self = .help
        case "--version": self = .version
        case _ where first.hasPrefix("-"):
            throw UsageError("a command goes before \(first.prefix { $0 != "=" }); headrace --help lists them")
        case _ where first.contains("://"):
            throw UsageError("a command goes before the URL: headrace get \(first.withoutCredentials)")
        default: throw UsageError("\(first): there is no such command; headrace --help lists them")
        }
    }
}
