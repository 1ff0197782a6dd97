import Headrace

/// The command line tool: runs a command and exits with its status.
@main
struct Tool {
    static func main() async {
        // Must run before anything opens a file.
        StandardStreams.hold()
        DescriptorLimit.raise()
        Signals.restoreQuit()
        let bytes = Array(ProcessArguments.all().dropFirst())
        let arguments = bytes.map { String(decoding: $0, as: UTF8.self) }
        let status: ExitCode
        do throws(UsageError) {
            try checkEncoding(bytes)
            status = try await run(arguments)
        } catch {
            // The arguments could not be parsed, but may contain --json.
            let writesJSON = arguments.prefix { $0 != "--" }.contains("--\(Option.json.rawValue)")
            status = report(error.message, code: .invalidRequest, .usage, writesJSON: writesJSON)
        }
        Console.exit(status)
    }

    /// Throws if an argument is not UTF-8: Swift would replace the invalid bytes, and the text would name another file.
    private static func checkEncoding(_ arguments: [[UInt8]]) throws(UsageError) {
        for (index, argument) in arguments.enumerated() where String(validating: argument, as: UTF8.self) == nil {
            // Only the number is reported: the argument may be a secret.
            throw UsageError("argument \(index + 1) is not valid UTF-8")
        }
    }

    private static func run(_ arguments: [String]) async throws(UsageError) -> ExitCode {
        switch try Invocation(arguments) {
        case .help(let verbs): return Console.output.print(Help.text(on: verbs))
        case .version: return Console.output.print("headrace \(headraceVersion)")
        case .verb(let verb, let arguments):
            let places = [Option.output, .directory].compactMap(arguments.value)
            // Only commands that save files to a relative path need the current directory.
            if verb.options.contains(where: { $0.option == .directory }),
                !places.contains(where: { $0.hasPrefix("/") }),
                let failure = Files.currentDirectoryFailure()
            {
                let message = "The current directory cannot be found: \(failure.reason). Change to an existing one."
                return report(message, code: .fileSystem, .disk, writesJSON: arguments.has(.json))
            }
            do {
                // Checked first: on Linux, Dispatch traps if it cannot open a descriptor.
                try DescriptorLimit.require(besides: Signals.descriptors)
            } catch {
                return report(error.message, code: error.code, ExitCode(error.code), writesJSON: arguments.has(.json))
            }
            return try await verb.run(arguments)
        }
    }
}

/// The action that a command line requests.
enum Invocation {
    /// The help for these commands.
    case help([Verb])
    case version
    case verb(Verb, ParsedArguments)

    /// The words by which other tools call a command, each with this tool's words for the same command.
    private static let aliases: [(words: [String], replacement: [String])] = [
        (["version"], ["--version"]), (["queue", "ls"], ["queue", "list"]), (["queue", "rm"], ["queue", "remove"]),
    ]

    init(_ line: [String], verbs: [Verb] = Verb.table) throws(UsageError) {
        var arguments = line
        if line.first == "help" { arguments = line.drop { $0 == "help" } + ["--help"] }
        if let alias = Self.aliases.first(where: { alias in arguments.starts(with: alias.words) }) {
            arguments.replaceSubrange(..<alias.words.count, with: alias.replacement)
        }
        guard let first = arguments.first else { throw UsageError("no command given; see headrace --help") }
        guard let verb = verbs.first(where: { arguments.starts(with: $0.words) }) else {
            let group = Verb.group(first, in: verbs)
            self =
                try group.isEmpty ? Invocation(first, of: verbs) : Invocation(first, arguments.dropFirst().first, group)
            return
        }
        let parsed = try ParsedArguments(Array(arguments.dropFirst(verb.words.count)), table: verb.options)
        if parsed.has(.help) {
            self = .help([verb])
        } else if parsed.has(.version) {
            self = .version
        } else {
            self = .verb(verb, parsed)
        }
    }

    /// Creates the invocation for a first argument that is not a command.
    private init(_ first: String, of verbs: [Verb]) throws(UsageError) {
        switch first {
        case "-h", "--help": self = .help(verbs)
        case "--version": self = .version
        case _ where first.hasPrefix("-"):
            throw UsageError("a command must come before \(first.prefix { $0 != "=" }); see headrace --help")
        case _ where first.contains("://"):
            throw UsageError("a command must come before the URL: headrace get \(first.withoutCredentials)")
        default:
            let suggestion =
                Spelling.nearest(to: first, in: Completions.words(verbs))
                // A command of a group is found without the group's word.
                ?? verbs.first { $0.words.count > 1 && $0.words.last == first }?.name
            throw UsageError(
                "\(first): no such command\(Spelling.hint(suggestion, else: "see headrace --help"))"
            )
        }
    }

    /// Creates the invocation for the word of a group that is not followed by one of the group's commands.
    private init(_ word: String, _ second: String?, _ group: [Verb]) throws(UsageError) {
        let advice = "see headrace \(word) --help"
        switch second {
        case "-h", "--help": self = .help(group)
        case "--version": self = .version
        case nil: throw UsageError("\(word): no command given; \(advice)")
        case let second? where second.hasPrefix("-"):
            throw UsageError("\(word): a command must come before \(second.prefix { $0 != "=" }); \(advice)")
        case let second?:
            let suggestion = Spelling.nearest(to: second, in: group.compactMap(\.words.last)).map { "\(word) \($0)" }
            throw UsageError(
                "\(word) \(second.withoutCredentials): no such command\(Spelling.hint(suggestion, else: advice))"
            )
        }
    }
}

/// Runs a command, reports the error that it throws, also in JSON with `--json`, and returns the exit status.
func reportingErrors(
    to arguments: ParsedArguments,
    _ command: () async throws -> ExitCode
) async throws(UsageError) -> ExitCode {
    let writesJSON = arguments.has(.json)
    do {
        return try await command()
    } catch let error as UsageError {
        throw error
    } catch let stop as Signals.Stop {
        return .signal(stop.signal)
    } catch let error as DownloadError {
        guard ExitCode(error.code) != .usage else { throw UsageError(error.message) }
        return report(error.advisedMessage, code: error.code, ExitCode(error.code), writesJSON: writesJSON)
    } catch {
        return report("\(error)", code: nil, .other, writesJSON: writesJSON)
    }
}

/// Reports a failure of a command, and returns the exit status.
func report(
    _ message: String,
    code: DownloadError.Code?,
    _ status: ExitCode,
    writesJSON: Bool
) -> ExitCode {
    if writesJSON { Console.output.write(JSONLines.error(message, code, status) + "\n") }
    Console.error.write("headrace: \(message.printable)\n")
    return status
}
