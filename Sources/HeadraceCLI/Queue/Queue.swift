import Headrace
import HeadracePlatform

extension Verb {
    static let queue =
        [
            Verb(
                name: "queue add",
                operands: "URL...",
                summary: "add downloads to the queue, which is stored on disk, and print their ids",
                options: .entries(
                    of: Option.networkOptions.union([
                        .output, .directory, .inputFile, .checksum, .checksumFile, .header, .mirror, .metalink,
                        .method, .data, .dataFile,
                        .ifExists, .ifChanged, .onMismatch, .network, .title, .group, .priority, .paused, .begin,
                        .registry, .json, .quiet, .help,
                    ])
                ),
                notes: [
                    """
                    The options for proxies, logins, certificates and cookies apply only to the URL of --checksum-file;
                    pass those for the downloads to queue run. The queue stores the text of --data, and the path of
                    --data-file.
                    """,
                    DownloadSnapshot.jsonNotes,
                ],
                run: queueAdd
            ),
            Verb(
                name: "queue list",
                summary: "show the queue",
                options: .entries(of: [.state, .group, .registry, .json, .help]),
                notes: [DownloadSnapshot.jsonNotes],
                run: queueList
            ),
            Verb(
                name: "queue run",
                summary: "run the downloads of the queue; other queue commands can be used meanwhile",
                options: .entries(of: Option.queueRunOptions.union([.background])),
                notes: [Hooks.notes],
                run: queueRun
            ),
            command(
                "pause",
                "pause downloads; they keep their positions and their partial files"
            ) { ids, _ in .pause(ids) },
            command(
                "resume",
                "resume paused, failed and cancelled downloads, and finished ones whose file is missing",
                notes: [
                    """
                    queue resume restarts a cancelled download from the beginning, downloads a finished file again if it is
                    missing, and makes a download ignore its --begin time. --state paused resumes only paused downloads.
                    """
                ]
            ) { ids, _ in .resume(ids) },
            command("retry", "retry failed downloads") { ids, _ in .retry(ids) },
            command("cancel", "cancel downloads and delete their partial files") { ids, _ in .cancel(ids) },
            command("remove", "remove downloads in any state from the queue", [.files]) {
                .remove($0, deletingFiles: $1.has(.files))
            },
            Verb(
                name: "queue move",
                operands: moveOperands,
                summary: "move a download to another position in the queue",
                options: .entries(of: [.registry, .help]),
                notes: [QueueSelector.moveNotes]
            ) { arguments in
                try await changeOne(arguments, usage: "queue move \(moveOperands)") { id, queue in
                    .move(id, to: try QueuePosition(arguments.operands.dropFirst(), in: queue))
                }
            },
            Verb(
                name: "queue relink",
                operands: "ID URL",
                summary: "give a download a new URL of the same file; received bytes are kept if the validators match",
                options: .entries(of: [.registry, .quiet, .help])
            ) { arguments in
                try await changeOne(arguments, usage: "queue relink ID URL") { id, _ in
                    guard arguments.operands.count == 2 else {
                        throw UsageError("give one new URL: headrace queue relink ID URL")
                    }
                    return .setURL(try Argument.url(arguments.operands[1]), id)
                }
            },
        ] + queueProcess
}

private let moveOperands = "ID first|last|before ID|after ID|POSITION"

private func queueAdd(_ arguments: ParsedArguments) async throws -> ExitCode {
    var options = try QueueAddOptions(arguments, now: .now)
    let registry = try DownloadRegistry(arguments)
    let requests = try options.queued(try await options.downloads.readRequests(areStored: true))
    try registry.makeParent()
    let before = try await registry.presentDownloads()
    let (ids, isDone) = try await registry.add(requests)
    if options.downloads.verbosity != .quiet {
        var known = before.reduce(into: [:]) { known, download in
            let (number, state) = (download.shownNumber ?? download.id.description, download.state.kind.rawValue)
            known[download.id] = "is already in the queue as \(number) (\(state))"
        }
        for (id, request) in zip(ids, requests) {
            if let how = known[id] {
                Console.error.note("\(request.url.absoluteString) \(how)")
            } else {
                known[id] = "was given more than once"
            }
        }
        await registry.warnUnlessRunning(arguments)
    }
    var lines = ids.map(\.description)
    if options.downloads.writesJSON {
        let queue = (try? await registry.downloads()) ?? []
        let known = Dictionary(uniqueKeysWithValues: queue.map { ($0.id, $0) })
        lines = zip(ids, requests).map { id, request in
            // The process that runs the queue may not have processed the addition yet.
            let state = request.startsPaused ? DownloadState.paused : .waiting
            let added = DownloadSnapshot(id: id, request: request, state: state, priority: request.priority)
            return (known[id] ?? added).json
        }
    }
    let status = Console.output.print(lines)
    guard isDone else { throw await registry.notCarriedOutYet() }
    return status
}

private func queueList(_ arguments: ParsedArguments) async throws -> ExitCode {
    let selector = try QueueSelector(["all"], arguments)
    let registry = try DownloadRegistry(arguments)
    var all = try await registry.presentDownloads()
    // If no process runs the queue, the downloads do not wait for the network.
    if try await registry.processID != nil { await all.fillInBlockers() }
    let shown = Set(try selector.resolve(in: all))
    var lines: [String] = []
    if arguments.has(.json) {
        lines = all.filter { shown.contains($0.id) }.map(\.json)
    } else if !shown.isEmpty {
        lines = QueueTable(all, shown: shown, now: .now).lines(width: Console.output.width)
    } else {
        let state = selector.state?.rawValue ?? "selected"
        let message = all.isEmpty ? "The queue is empty." : "No download in the queue is \(state)."
        // If a program reads standard output, the message goes to standard error.
        guard Console.output.width != nil else { return Console.error.print(message) }
        lines = [message]
    }
    return Console.output.print(lines)
}

private func queueRun(_ arguments: ParsedArguments) async throws -> ExitCode {
    var options = try GetOptions(arguments)
    // An unattended queue may start before the network is up.
    options.configuration.retryPolicy.maxUnreachableFailures = nil
    options.configuration.credentials = options.hostCredentials
    if arguments.has(.background) { try arguments.checkFilesAreReadable() }
    try await options.readNetworkFiles()
    let registry = try DownloadRegistry(arguments)
    options.configuration.registryDirectory = registry.directory
    try registry.makeParent()
    guard !arguments.has(.background) else { return try await runInBackground(arguments, registry) }
    // The run in which a download ended has already run the command for it.
    if !options.hooks.isEmpty {
        for download in try await registry.downloads() { options.hooks.skip(download.id, download.state) }
    }
    let start = ContinuousClock.now
    while true {
        do {
            // Only for this attempt: between attempts, the stream has no reader, so that a signal ends the process.
            let signals = Signals.requests()
            return try await withDownloadManager(options.configuration) { manager in
                try await Run(manager, options, signals).finish()
            }
        } catch let error as DownloadError where error.code == .busy {
            if .now >= start + timeout {
                let holder = try await registry.processID
                if holder != nil || .now >= start + lastTimeout {
                    throw DownloadError.alreadyRunning(registry, by: holder)
                }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The time for which `queue run` retries if another `queue run` has locked the queue, because that may be exiting.
private let timeout: Duration = .seconds(2)
/// The time for which `queue run` retries if another command has locked the queue, for example to add many URLs.
private let lastTimeout: Duration = .seconds(60)

/// Carries out a command on the download that the first operand names.
///
/// If there is no operand, throws an error that contains `usage`.
private func changeOne(
    _ arguments: ParsedArguments,
    usage: String,
    _ command: (Download.ID, [DownloadSnapshot]) throws -> DownloadRegistry.Command
) async throws -> ExitCode {
    guard let first = arguments.operands.first else {
        throw UsageError("no download given; usage: headrace \(usage)")
    }
    let term = try QueueSelector.Term(first)
    let registry = try DownloadRegistry(arguments)
    let queue = try await registry.presentDownloads()
    let id = try QueueSelector.find(term, in: queue).id
    let command = try command(id, queue)
    try await registry.carryOut(command, QueueCommandReport(command, to: [id], of: queue, areNamed: true), arguments)
    return .success
}

extension Verb {
    /// Returns the tool's command `queue NAME`, which applies `command` to the downloads that the user selects.
    private static func command(
        _ name: String,
        _ summary: String,
        _ options: Set<Option> = [],
        notes: [String] = [],
        _ command: @escaping @Sendable ([Download.ID], ParsedArguments) -> DownloadRegistry.Command
    ) -> Verb {
        Verb(
            name: "queue \(name)",
            operands: "ID...",
            summary: summary,
            options: .entries(of: options.union([.state, .group, .registry, .quiet, .help])),
            notes: [QueueSelector.notes] + notes
        ) { arguments in
            let selector = try QueueSelector(arguments.operands, arguments)
            let registry = try DownloadRegistry(arguments)
            let queue = try await registry.presentDownloads()
            let ids = try selector.resolve(in: queue)
            let change = command(ids, arguments)
            let report = QueueCommandReport(change, to: ids, of: queue, areNamed: selector.namesEach)
            try await registry.carryOut(change, report, arguments)
            return .success
        }
    }
}

extension ParsedArguments {
    /// The `--registry` option to add to a suggested command for the same queue.
    var queueWords: String { value(.registry).map { " --registry \($0)" } ?? "" }
}

extension DownloadRegistry {
    init(_ arguments: ParsedArguments) throws {
        let environment = ProcessInfo.processInfo.environment
        self.init(directory: try RegistryLocation.directory(arguments.value(.registry), environment: environment))
    }

    /// Returns the downloads, after carrying out commands that a terminated process left behind.
    ///
    /// Prints a message if the queue's files are damaged.
    func presentDownloads() async throws(DownloadError) -> [DownloadSnapshot] {
        let (downloads, findings) = try await present()
        for finding in findings { Console.error.note("\(directory.plainPath): \(finding)") }
        return downloads
    }

    /// Carries out a command on downloads of the queue and prints the report.
    ///
    /// If another process runs the queue and does not carry out the command in time, throws `busy`; the command remains
    /// saved.
    fileprivate func carryOut(
        _ command: Command,
        _ report: QueueCommandReport,
        _ arguments: ParsedArguments
    ) async throws {
        let isDone = report.downloads.isEmpty ? true : try await perform(command)
        let isQuiet = arguments.has(.quiet)
        if !isQuiet { for line in report.notes { Console.error.write(line + "\n") } }
        guard isDone else { throw await notCarriedOutYet() }
        guard !isQuiet, let summary = report.summary else { return }
        Console.error.write(summary + "\n")
        if case .remove(_, let deletingFiles) = command {
            for path in report.downloads.map(\.partialFile.plainPath) where Files.exists(path) {
                let message =
                    deletingFiles
                    ? "\(path) has not been deleted yet"
                    : "kept \(path): adding the URL again resumes it; use --files to delete such files"
                Console.error.note(message)
            }
        }
        await warnUnlessRunning(arguments)
    }

    fileprivate func notCarriedOutYet() async -> DownloadError {
        var process = "the process that runs the queue"
        if let holder = try? await processID { process = "process \(holder), which runs the queue," }
        return DownloadError(
            .busy,
            "\(directory.plainPath): \(process) has not carried out the command yet. The command is saved: that "
                + "process will carry it out when it can, or, if it exits first, the next queue command will"
        )
    }

    /// Prints a message and returns `true` if no process runs the queue.
    ///
    /// Returns `false` if a process runs it, or if that cannot be determined.
    @discardableResult
    func warnUnlessRunning(_ arguments: ParsedArguments) async -> Bool {
        guard case .some(nil) = try? await Optional(processID) else { return false }
        Console.error.note("no process is running the queue; start it with: headrace queue run\(arguments.queueWords)")
        return true
    }

    fileprivate func makeParent() throws(DownloadError) {
        let parent = directory.deletingLastPathComponent().plainPath
        do {
            try FileSystem.system.makeDirectories(given: parent)
        } catch {
            throw DownloadError(.fileSystem, "\(parent): the directory for the queue could not be created: \(error)")
        }
    }
}

extension [DownloadSnapshot] {
    fileprivate mutating func fillInBlockers() async {
        guard contains(where: { $0.state == .waiting }) else { return }
        let monitor = NetworkMonitor()
        let path = monitor.path
        await monitor.close()
        for index in indices where self[index].state == .waiting {
            self[index].networkBlocker = path?.blocker(for: self[index].request)
        }
    }
}
