import Headrace
import HeadracePlatform

extension Verb {
    /// The commands on a list that is kept in a directory.
    static let queue =
        [
            Verb(
                name: "queue add",
                operands: "URL...",
                summary: "add downloads to a list that is kept on the disk, and print their ids",
                options: .those(
                    of: Option.networkOptions.union([
                        .output, .directory, .inputFile, .checksum, .checksumFile, .header, .mirror, .metalink,
                        .ifExists, .ifChanged, .onMismatch, .network, .title, .group, .priority, .paused, .begin,
                        .registry, .json, .quiet, .help,
                    ])
                ),
                notes: [
                    """
                    What queue add is told of proxies, logins, certificates and cookies is for the URL of --checksum-file;
                    queue run takes what is for the downloads.
                    """,
                    DownloadSnapshot.jsonNotes,
                ],
                run: { arguments async throws(UsageError) in try await queueAdd(arguments) }
            ),
            Verb(
                name: "queue list",
                operands: "",
                summary: "show the list",
                options: .entries(of: [.state, .group, .registry, .json, .help]),
                notes: [DownloadSnapshot.jsonNotes],
                run: { arguments async throws(UsageError) in try await queueList(arguments) }
            ),
            Verb(
                name: "queue run",
                operands: "",
                summary: "download what waits in the list; other queue commands work meanwhile",
                options: .entries(of: Option.queueRunOptions.union([.background])),
                run: { arguments async throws(UsageError) in try await queueRun(arguments) }
            ),
            command(
                "pause",
                "stop downloads until they are resumed; they keep their places and their bytes"
            ) { ids, _ in .pause(ids) },
            command(
                "resume",
                "have paused, failed and cancelled downloads, and those whose file is gone, wait for their turn again",
                notes: [
                    """
                    queue resume has a cancelled download begin at zero, and a finished one whose file is gone fetched again;
                    one that is to begin later waits for that no more. --state paused leaves all others as they are.
                    """
                ]
            ) { ids, _ in .resume(ids) },
            command("retry", "try failed downloads again") { ids, _ in .retry(ids) },
            command("cancel", "stop downloads for good and delete what came of them") { ids, _ in .cancel(ids) },
            command("remove", "take downloads out of the list, whatever they do", [.files]) {
                .remove($0, deletingFiles: $1.has(.files))
            } then: { removed, arguments in
                for path in removed.map({ $0.partialFile.plainPath }) where Files.exists(path) {
                    let message =
                        arguments.has(.files)
                        ? "\(path) is not deleted yet"
                        : "\(path) is kept: the URL added again goes on with it; --files deletes such files"
                    Console.error.write("headrace: \(message)".printable + "\n")
                }
            },
            Verb(
                name: "queue move",
                operands: "ID first|last|before ID|after ID|PLACE",
                summary: "change the place of a download in the list, and with it when it runs",
                options: .entries(of: [.registry, .help]),
                notes: [QueueSelector.moveNotes],
                run: { arguments async throws(UsageError) in try await queueMove(arguments) }
            ),
        ] + queueProcess

    /// A command on downloads that are there; `then` tells what came of it.
    private static func command(
        _ name: String,
        _ summary: String,
        _ options: Set<Option> = [],
        notes: [String] = [],
        _ command: @escaping @Sendable ([Download.ID], ParsedArguments) -> DownloadRegistry.Command,
        then report: @escaping @Sendable ([DownloadSnapshot], ParsedArguments) -> Void = { _, _ in }
    ) -> Verb {
        Verb(
            name: "queue \(name)",
            operands: "ID...",
            summary: summary,
            options: .entries(of: options.union([.state, .group, .registry, .quiet, .help])),
            notes: [QueueSelector.notes] + notes,
            run: { arguments async throws(UsageError) in
                let selector = try QueueSelector(arguments.operands, arguments)
                let registry = try DownloadRegistry(arguments)
                return try await reportingErrors(to: arguments) {
                    let list = try await registry.presentDownloads()
                    let ids = try selector.resolve(in: list)
                    let command = command(ids, arguments)
                    let isDone = ids.isEmpty ? true : try await registry.perform(command)
                    if !arguments.has(.quiet) {
                        let lines = QueueCommandNote.lines(on: command, to: ids, of: list, areNamed: selector.namesEach)
                        for line in lines { Console.error.write(line + "\n") }
                    }
                    guard isDone else { throw await registry.isYetToCarryOut() }
                    let chosen = Set(ids)
                    if !arguments.has(.quiet) {
                        let line = QueueCommandNote.summary(of: command, on: ids, of: list)
                        if let line { Console.error.write(line + "\n") }
                        report(list.filter { chosen.contains($0.id) }, arguments)
                        if line != nil { await registry.warnUnlessRunning(arguments) }
                    }
                    return .success
                }
            }
        )
    }
}

private func queueAdd(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    var options = try QueueAddOptions(arguments, now: .now)
    let (listed, files) = (try options.places.readList(), try options.places.readMetalinks())
    try options.places.readNetworkFiles()
    let registry = try DownloadRegistry(arguments)
    return try await reportingErrors(to: arguments) { [options] in
        let list = try await options.places.readChecksumList()
        let requests = try options.requests(listed: listed, files: files, checksums: list)
        try registry.makeParent()
        let before = try await registry.presentDownloads()
        let (ids, isDone) = try await registry.add(requests)
        if options.places.verbosity != .quiet {
            var known = before.reduce(into: [:]) { known, download in
                let (number, state) = (download.shownNumber ?? download.id.description, download.state.kind.rawValue)
                known[download.id] = "is in the list already, as \(number), \(state)"
            }
            for (id, request) in zip(ids, requests) {
                if let how = known[id] {
                    Console.error.write("headrace: \(request.url.absoluteString) \(how)".printable + "\n")
                } else {
                    known[id] = "is given more than once"
                }
            }
            await registry.warnUnlessRunning(arguments)
        }
        var lines = ids.map(\.description)
        if options.places.writesJSON {
            let list = (try? await registry.downloads()) ?? []
            lines = zip(ids, requests).map { id, request in
                guard let index = list.firstIndex(where: { $0.id == id }) else {
                    // The process that has the list has yet to take it.
                    return DownloadSnapshot(added: request, as: id).json(position: nil)
                }
                return list[index].json(position: index + 1)
            }
        }
        let status = Console.output.print(lines)
        guard isDone else { throw await registry.isYetToCarryOut() }
        return status
    }
}

private func queueList(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    try arguments.checkOperands(none: "queue list")
    let state = try arguments.value(.state).map { text throws(UsageError) in try QueueSelector.state(text) }
    let registry = try DownloadRegistry(arguments)
    return try await reportingErrors(to: arguments) {
        var all = try await registry.presentDownloads()
        // Nothing but the network keeps those waiting that nobody would run anyway.
        if try await registry.processID != nil { await all.fillInBlockers() }
        let shown = Set(try QueueSelector.filter(all, group: arguments.value(.group), state: state).map(\.id))
        var lines: [String] = []
        if arguments.has(.json) {
            lines = all.enumerated().filter { shown.contains($1.id) }.map { $1.json(position: $0 + 1) }
        } else if !shown.isEmpty {
            lines = QueueTable(all, shown: shown, now: .now).lines(width: Console.output.width)
        } else {
            let message =
                all.isEmpty ? "The list is empty." : "No download of the list is \(state?.rawValue ?? "there")."
            // A program that reads the list gets nothing.
            guard Console.output.width != nil else { return Console.error.print(message) }
            lines = [message]
        }
        return Console.output.print(lines)
    }
}

private func queueRun(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    try arguments.checkOperands(none: "queue run")
    var options = try GetOptions(arguments)
    // A list that runs unattended may start before the network is up.
    options.configuration.retryPolicy.maxUnreachableFailures = nil
    if arguments.has(.background) { try arguments.checkFiles(areReadAgainBy: "the process in the background") }
    try options.readNetworkFiles()
    let registry = try DownloadRegistry(arguments)
    options.configuration.registryDirectory = registry.directory
    return try await reportingErrors(to: arguments) { [options] in
        try registry.makeParent()
        guard !arguments.has(.background) else { return try await runInBackground(arguments, registry) }
        let signals = Signals.requests()
        let end = ContinuousClock.now + timeout
        while true {
            do {
                return try await withDownloadManager(options.configuration) { manager in
                    let mode = Run.Mode.shared(
                        directory: registry.directory.plainPath,
                        watches: arguments.has(.watch)
                    )
                    return try await Run(manager, mode, options, signals).finish()
                }
            } catch let error as DownloadError where error.code == .busy {
                guard .now < end else { throw DownloadError.isRun(registry, by: try await registry.processID) }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

/// How long another command may have the list, each for some milliseconds, before it is taken for another run.
private let timeout: Duration = .seconds(2)

private func queueMove(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    guard let first = arguments.operands.first else {
        throw UsageError("no download is named: headrace queue move ID first|last|before ID|after ID|PLACE")
    }
    let term = try QueueSelector.Term(first)
    let registry = try DownloadRegistry(arguments)
    return try await reportingErrors(to: arguments) {
        let list = try await registry.presentDownloads()
        let id = try QueueSelector.find(term, in: list).id
        let place = try QueuePosition(arguments.operands.dropFirst(), in: list)
        let command = DownloadRegistry.Command.move(id, to: place)
        guard try await registry.perform(command) else { throw await registry.isYetToCarryOut() }
        if let line = QueueCommandNote.summary(of: command, on: [id], of: list) { Console.error.write(line + "\n") }
        await registry.warnUnlessRunning(arguments)
        return .success
    }
}

extension ParsedArguments {
    func checkOperands(none verb: String) throws(UsageError) {
        guard let first = operands.first else { return }
        throw UsageError("\(verb) takes no operand such as \"\(first.withoutCredentials)\"")
    }

    /// What names the list that these are about in a command on it.
    var queueWords: String { value(.registry).map { " --registry \($0)" } ?? "" }
}

extension DownloadRegistry {
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let environment = ProcessInfo.processInfo.environment
        self.init(directory: try RegistryLocation.directory(arguments.value(.registry), environment: environment))
    }

    /// The list as it is when all is done that was left for a process that has ended; what of it is damaged is told.
    func presentDownloads() async throws(DownloadError) -> [DownloadSnapshot] {
        let (downloads, findings) = try await present()
        for finding in findings {
            Console.error.write("headrace: \(directory.plainPath): \(finding)".printable + "\n")
        }
        return downloads
    }

    /// What is told of a command that the process that has the list has not carried out in the time that is waited for it.
    fileprivate func isYetToCarryOut() async -> DownloadError {
        var process = "the process that has the list"
        if let holder = try? await processID { process = "process \(holder), which runs the list," }
        return DownloadError(
            .busy,
            "\(directory.plainPath): \(process) has not carried out the command yet. It is kept there: that process "
                + "does it as soon as it can, or once that one has ended, the next queue command"
        )
    }

    /// Reports that no process runs the list; the change is in the list, whatever keeps this from being found out.
    fileprivate func warnUnlessRunning(_ arguments: ParsedArguments) async {
        guard case .some(nil) = try? await Optional(processID) else { return }
        let command = "headrace queue run\(arguments.queueWords)"
        let line = "headrace: no process runs the list; \(command) downloads what waits in it"
        Console.error.write(line.printable + "\n")
    }

    /// Makes the directories above that of the list.
    fileprivate func makeParent() throws(DownloadError) {
        let parent = directory.deletingLastPathComponent().plainPath
        do throws(Files.Failure) {
            try Files.makeDirectory(parent)
        } catch {
            throw DownloadError(.fileSystem, "\(parent): the directory for the list could not be made: \(error.reason)")
        }
    }
}

extension [DownloadSnapshot] {
    /// Takes over what of the network as it is now keeps downloads waiting.
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

extension DownloadSnapshot {
    /// A download that has just come into the list.
    fileprivate init(added request: DownloadRequest, as id: Download.ID) {
        self.init(
            id: id,
            request: request,
            state: request.startsPaused ? .paused : .waiting,
            priority: request.priority
        )
    }
}
