import Dispatch
import Headrace
import HeadracePlatform

/// The commands of `--on-finish` and `--on-fail`, which run without a shell when a download ends.
struct Hooks: Sendable, Equatable {
    /// The paragraph of the help text about the commands.
    static let notes = """
        CMD of an option is split at blanks and run without a shell, one at a time. Its environment has HEADRACE_URL, and
        for --on-finish and --on-fail HEADRACE_FILE (the file, or what is left of it), HEADRACE_ID and HEADRACE_STATUS (an
        exit status).
        """

    struct Call: Sendable, Equatable {
        let option: Option
        let words: [String]
        let variables: [String]
    }

    private var commands: [Option: [String]] = [:]
    /// The last recorded state of each download, so that a command runs once each time the state changes.
    private var seen: [Download.ID: DownloadState.Kind] = [:]

    var isEmpty: Bool { commands.isEmpty }

    init(_ arguments: ParsedArguments) throws {
        for option in [Option.onFinish, .onFail] where arguments.has(option) {
            commands[option] = try arguments.value(option, as: Self.words)
        }
    }

    static func words(_ command: String, of option: Option) throws -> [String] {
        let words = command.split(separator: " ").map(String.init)
        guard !words.isEmpty else { throw UsageError(option, "the command is empty") }
        return words
    }

    /// Returns a link provider that runs `words`, the command of `--link-command`, and parses the URL that it prints.
    static func linkProvider(
        _ words: [String]
    ) -> @Sendable (DownloadRequest) async throws -> DownloadRequest.Link {
        { request in
            let url = "HEADRACE_URL=\(request.url.withoutCredentials.absoluteString)"
            let ending = Processes.Ending()
            let result = try await withTaskCancellationHandler {
                try await Call.queue.run { Result { try Processes.output(of: words, [url], until: ending) } }
            } onCancel: {
                // A command that hangs must not outlive the download.
                ending.end()
            }
            let problem: String
            switch result {
            case .success((0, let output)):
                let line = String(decoding: output.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
                if let link = URL(encoding: String(line[...].trimmed)), link.host() != nil { return .init(link) }
                problem = "the first line of its output is not a URL"
            case .success((let status, _)): problem = "exit status \(status)"
            case .failure(let error): problem = "\(error)"
            }
            throw DownloadError(.unexpectedContent, "--link-command: \(words[0]): \(problem)")
        }
    }

    /// Records the state of a download without running a command for it.
    mutating func skip(_ id: Download.ID, _ state: DownloadState) { if !isEmpty { seen[id] = state.kind } }

    /// Records the state of a download, and returns the command to run for it.
    ///
    /// Returns `nil` if this state has no command, if it was the download's last recorded state too, or if a signal
    /// stopped the download. `partial` is the path of the partial file, which the command of a failed download receives
    /// if the file exists.
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
    fileprivate static let queue = DispatchQueue(label: "headrace-hooks")

    /// Runs the command after the commands that are already waiting; returns a message if it fails.
    func run() async -> String? {
        let result = await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: Result { try Processes.run(words, variables) }) }
        }
        let problem: String
        switch result {
        case .success(0): return nil
        case .success(let status): problem = "exit status \(status)"
        case .failure(let error): problem = "\(error)"
        }
        return "--\(option.rawValue): \(words[0]): \(problem)"
    }
}
