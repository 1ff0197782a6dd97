import Dispatch
import Headrace
import HeadracePlatform

/// The commands of `--on-finish` and `--on-fail`, which run without a shell when a download ends.
struct Hooks: Sendable, Equatable {
    /// The paragraph of the help text about the commands.
    static let notes = """
        CMD of --on-finish and --on-fail is split at blanks and run without a shell, one at a time. Its environment has
        HEADRACE_FILE (the file, or what is left of it), HEADRACE_URL, HEADRACE_ID and HEADRACE_STATUS (an exit status).
        """

    /// One run of a command.
    struct Call: Sendable, Equatable {
        let option: Option
        let words: [String]
        let variables: [String]
    }

    private var commands: [Option: [String]] = [:]
    /// The state of each download for which a command has run.
    private var seen: [Download.ID: DownloadState.Kind] = [:]

    var isEmpty: Bool { commands.isEmpty }

    init(_ arguments: ParsedArguments) throws {
        for option in [Option.onFinish, .onFail] where arguments.has(option) {
            commands[option] = arguments.value(option)?.split(separator: " ").map(String.init)
            guard commands[option] != [] else { throw UsageError(option, "the command is empty") }
        }
    }

    /// Records the state of a download without running a command for it.
    mutating func skip(_ id: Download.ID, _ state: DownloadState) { if !isEmpty { seen[id] = state.kind } }

    /// Records the state of a download, and returns the command to run; `nil` if there is none for this state, or if it
    /// has already run.
    mutating func call(
        for id: Download.ID,
        _ request: DownloadRequest,
        partial: String,
        _ state: DownloadState
    ) -> Call? {
        guard seen.updateValue(state.kind, forKey: id) != state.kind else { return nil }
        let (option, file, status): (Option, String, ExitCode)
        switch state {
        case .finished(let url): (option, file, status) = (.onFinish, url.plainPath, .success)
        // A signal stopped the download, which did not fail.
        case .failed(let error) where error.code != .shutDown:
            let rest = Files.exists(partial) ? partial : ""
            (option, file, status) = (.onFail, error.savedFile?.plainPath ?? rest, ExitCode(error.code))
        default: return nil
        }
        guard let words = commands[option] else { return nil }
        let url = request.url.withoutCredentials.absoluteString
        let variables = ["FILE=\(file)", "URL=\(url)", "ID=\(id)", "STATUS=\(status.code)"].map { "HEADRACE_\($0)" }
        return Call(option: option, words: words, variables: variables)
    }
}

extension Hooks.Call {
    private static let queue = DispatchQueue(label: "headrace-hooks")

    /// Runs the command after those that wait already; returns a message if it fails.
    func run() async -> String? {
        await withCheckedContinuation { continuation in
            Self.queue.async {
                let problem: String?
                do throws(SystemError) {
                    let status = try Processes.run(words, variables)
                    problem = status == 0 ? nil : "exit status \(status)"
                } catch {
                    problem = "\(error)"
                }
                continuation.resume(returning: problem.map { "--\(option.rawValue): \(words[0]): \($0)" })
            }
        }
    }
}
