import Headrace
import HeadracePlatform

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
        do {
            try checkEncoding(bytes)
            status = try await run(arguments)
        } catch {
            // The arguments could not be parsed, but may contain --json.
            let writesJSON = arguments.prefix { $0 != "--" }.contains("--\(Option.json.rawValue)")
            status = report(error, writesJSON: writesJSON)
        }
        Console.exit(status)
    }

    /// Throws if an argument is not UTF-8: Swift would replace the invalid bytes, and the text would name another file.
    private static func checkEncoding(_ arguments: [[UInt8]]) throws {
        for (index, argument) in arguments.enumerated() where String(validating: argument, as: UTF8.self) == nil {
            // Only the number is reported: the argument may be a secret.
            throw UsageError("argument \(index + 1) is not valid UTF-8")
        }
    }

    private static func run(_ arguments: [String]) async throws -> ExitCode {
        switch try Invocation(arguments) {
        case .help(let verbs): return Console.output.print(Help.text(on: verbs))
        case .version: return Console.output.print("headrace \(headraceVersion)")
        case .verb(let verb, var arguments):
            if verb.options.count > 1 {
                let file = try ConfigurationFile(arguments, environment: ProcessInfo.processInfo.environment)
                if let file { arguments.add(file, for: verb) }
            }
            do {
                try check(arguments, for: verb)
                return try await verb.run(arguments)
            } catch let error as UsageError {
                throw arguments.located(error)
            } catch {
                return report(error, writesJSON: arguments.has(.json))
            }
        }
    }

    /// Throws if the command cannot run with these arguments or in this process.
    private static func check(_ arguments: ParsedArguments, for verb: Verb) throws {
        let places = [Option.output, .directory].compactMap(arguments.value)
        // Only commands that save files to a relative path need the current directory.
        if verb.options.contains(where: { $0.option == .directory }), !places.contains(where: { $0.hasPrefix("/") }) {
            do {
                try GivenFile.checkCurrentDirectory()
            } catch {
                throw DownloadError(
                    .fileSystem,
                    "The current directory cannot be used: \(error). Change to an existing one whose path is UTF-8."
                )
            }
        }
        // Checked before signals are handled: on Linux, Dispatch traps if it cannot open a descriptor.
        try DescriptorLimit.require(besides: Signals.descriptors)
        if verb.operands.isEmpty, let first = arguments.operands.first {
            throw UsageError("\(verb.name) takes no arguments, but \"\(first.withoutCredentials)\" was given")
        }
    }
}

/// The action that a command line requests.
enum Invocation {
    case help([Verb])
    case version
    case verb(Verb, ParsedArguments)

    /// The words by which other tools call a command, each with this tool's words for the same command.
    private static let aliases: [(words: [String], replacement: [String])] = [
        (["version"], ["--version"]), (["queue", "ls"], ["queue", "list"]), (["queue", "rm"], ["queue", "remove"]),
    ]

    init(_ line: [String], verbs: [Verb] = Verb.table) throws {
        var arguments = line
        if line.first == "help" { arguments = line.drop { $0 == "help" } + ["--help"] }
        if let alias = Self.aliases.first(where: { alias in arguments.starts(with: alias.words) }) {
            arguments.replaceSubrange(..<alias.words.count, with: alias.replacement)
        }
        guard let verb = verbs.first(where: { arguments.starts(with: $0.words) }) else {
            let first = arguments.first
            let group = first.map { Verb.group($0, in: verbs) } ?? []
            self =
                try group.isEmpty
                ? Invocation(first, after: nil, among: verbs)
                : Invocation(arguments.dropFirst().first, after: first, among: group)
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

    /// Creates the invocation for a command line that names no command: the help, the version, or a usage error.
    ///
    /// `word` is the word in place of the command: the first one of the line, or the one after the word of a `group`.
    private init(_ word: String?, after group: String?, among verbs: [Verb]) throws {
        let (start, words) = group.map { ("\($0): ", "\($0) ") } ?? ("", "")
        let advice = "see headrace \(words)--help"
        switch word {
        case "-h", "--help": self = .help(verbs)
        case "--version": self = .version
        case nil: throw UsageError("\(start)no command given; \(advice)")
        case let word? where word.hasPrefix("-"):
            throw UsageError("\(start)a command must come before \(word.prefix { $0 != "=" }); \(advice)")
        case let word? where group == nil && word.contains("://"):
            throw UsageError("a command must come before the URL: headrace get \(word.withoutCredentials)")
        case let word?:
            let known = Completions.words(after: group.map { [$0] } ?? [], in: verbs)
            let suggestion =
                Spelling.nearest(to: word, in: known).map { words + $0 }
                // A command of a group is found without the group's word.
                ?? verbs.first { group == nil && $0.words.count > 1 && $0.words.last == word }?.name
            let hint = Spelling.hint(suggestion, else: advice)
            throw UsageError("\(words)\(word.withoutCredentials): no such command\(hint)")
        }
    }
}

/// Reports the error that ended a command, also in JSON with `--json`, and returns the exit status.
///
/// A command that a signal stopped is not reported.
private func report(_ error: any Error, writesJSON: Bool) -> ExitCode {
    switch error {
    case let stop as Signals.Stop: .signal(stop.signal)
    case let error as UsageError: report(error.message, .invalidRequest, writesJSON: writesJSON)
    case let error as DownloadError where ExitCode(error.code) == .usage:
        report(error.message, .invalidRequest, writesJSON: writesJSON)
    case let error as DownloadError: report(error.advisedMessage, error.code, writesJSON: writesJSON)
    default: report("\(error)", nil, writesJSON: writesJSON)
    }
}

/// Reports a failure of a command, and returns the exit status.
func report(_ message: String, _ code: DownloadError.Code?, writesJSON: Bool) -> ExitCode {
    if writesJSON { Console.output.write(JSONLines.error(message, code) + "\n") }
    Console.error.note(message)
    return ExitCode(code)
}
