import Headrace
import HeadracePlatform

extension Verb {
    static let queueProcess = [
        Verb(
            name: "queue status",
            summary: "show which process runs the queue, and how many downloads are in each state",
            options: .entries(of: [.registry, .json, .help]),
            notes: [QueueStatus.jsonNotes],
            run: queueStatus
        ),
        Verb(
            name: "queue stop",
            summary:
                "stop the process that runs the queue, and wait until it exits; unfinished downloads remain queued",
            options: .entries(of: [.registry, .quiet, .help]),
            run: queueStop
        ),
        Verb(
            name: "queue wait",
            operands: "ID...",
            summary: "wait until downloads have ended; the exit status is that of their failures",
            options: .entries(of: [.state, .group, .registry, .quiet, .help]),
            notes: [QueueSelector.notes],
            run: queueWait
        ),
    ]
}

/// The maximum size, in bytes, of an existing log to which a new run appends; a larger log is deleted.
private let maxLogBytes = 1 << 20

/// Starts `headrace queue run` in the background with the same options.
///
/// Returns once the new process runs the queue and, without `--watch`, has downloads to run; or once it has exited.
/// Throws `busy` if another process runs the queue.
func runInBackground(_ arguments: ParsedArguments, _ registry: DownloadRegistry) async throws -> ExitCode {
    if let holder = try await registry.processID { throw DownloadError.alreadyRunning(registry, by: holder) }
    let log = registry.log
    var earlierBytes = Int(Files.status(log)?.size ?? 0)
    if earlierBytes > maxLogBytes, unlink(log) == 0 { earlierBytes = 0 }
    let child: pid_t
    do throws(SystemError) {
        try FileSystem.system.makeDirectories(given: registry.directory.plainPath, mode: 0o700)
        child = try Processes.startDetached(["queue", "run"] + arguments.words(leavingOut: .background), log: log)
    } catch {
        throw DownloadError(.fileSystem, "The background process could not be started: \(error)")
    }
    var hasList = false
    while true {
        if let status = Processes.status(of: child) {
            // Another process started to run the queue first. Both processes write to this log, so it is not shown.
            if ExitCode(code: status) == .disk, let holder = try await registry.processID {
                throw DownloadError.alreadyRunning(registry, by: holder)
            }
            // The process's output says why it exited, or that there was nothing to do.
            let said = (try? Files.read(log))?.dropFirst(earlierBytes) ?? []
            Console.error.write(String(decoding: said, as: UTF8.self))
            return ExitCode(code: status)
        }
        if hasList {
            // If there is nothing to do, the process exits by itself and prints why.
            let queue = try await registry.downloads()
            if arguments.has(.watch) || queue.contains(where: { $0.state == .waiting || $0.state == .running }) {
                break
            }
        } else {
            hasList = try await registry.processID == child
        }
        try await Task.sleep(for: .milliseconds(hasList ? 100 : 20))
    }
    guard !arguments.has(.quiet) else { return .success }
    let message = "Process \(child) is running the queue in the background; log: \(log)".printable
    return Console.output.print(message)
}

private func queueStatus(_ arguments: ParsedArguments) async throws -> ExitCode {
    let registry = try DownloadRegistry(arguments)
    let status = QueueStatus(
        processID: try await registry.processID,
        counts: GroupProgress(of: try await registry.presentDownloads()).counts,
        log: Files.exists(registry.log) ? registry.log : nil
    )
    let lines = arguments.has(.json) ? [status.json] : status.lines
    return Console.output.print(lines)
}

private func queueStop(_ arguments: ParsedArguments) async throws -> ExitCode {
    let registry = try DownloadRegistry(arguments)
    guard let holder = try await registry.processID else {
        return arguments.has(.quiet) ? .success : Console.output.print("No process is running the queue.")
    }
    // A process that has just ended is what was asked for.
    guard kill(holder, SIGTERM) == 0 || errno == ESRCH else {
        throw DownloadError(
            .permission,
            "Process \(holder) could not be stopped: \(SystemError(errno: errno))"
        )
    }
    let start = ContinuousClock.now
    var isAnnounced = arguments.has(.quiet)
    while Processes.isAlive(holder) {
        let waited = .now - start
        guard waited < .seconds(60) else {
            throw DownloadError(.busy, "Process \(holder) did not stop within a minute.")
        }
        if !isAnnounced, Console.error.width != nil || waited > .seconds(1) {
            isAnnounced = true
            Console.error.note("waiting up to a minute for process \(holder) to stop")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
    let message = "Process \(holder) has stopped; unfinished downloads remain in the queue."
    return arguments.has(.quiet) ? .success : Console.output.print(message)
}

private func queueWait(_ arguments: ParsedArguments) async throws -> ExitCode {
    let selector = try QueueSelector(arguments.operands, arguments)
    let registry = try DownloadRegistry(arguments)
    var queue = try await registry.presentDownloads()
    let ids = Set(try selector.resolve(in: queue))
    func isOpen(_ download: DownloadSnapshot) -> Bool { ids.contains(download.id) && !download.state.isEnded }
    var isWarned = arguments.has(.quiet)
    while queue.contains(where: isOpen) {
        if !isWarned { isWarned = await registry.warnUnlessRunning(arguments) }
        try await Task.sleep(for: .milliseconds(200))
        queue = try await registry.downloads()
    }
    let chosen = queue.filter { ids.contains($0.id) }
    // A download that was cancelled or removed has no file.
    let removed = ids.count - chosen.count
    if removed > 0 { Console.error.note("\(removed) removed from the queue") }
    var statuses = [ExitCode](repeating: .other, count: removed)
    for download in chosen where download.state.kind != .finished {
        guard case .failed(let error) = download.state else {
            Console.error.note("\(download.numberedName): \(download.state.kind)")
            statuses.append(.other)
            continue
        }
        Console.error.note("\(download.numberedName): \(error.advisedMessage)")
        statuses.append(ExitCode(error.code))
    }
    return ExitCode(of: statuses)
}

extension ParsedArguments {
    /// Throws if an option names a file that the background process cannot read again: standard input or a pipe.
    func checkFilesAreReadable() throws {
        for entry in Option.table where entry.takesFile {
            for path in all(entry.option) where path == "-" || Files.status(path).map({ $0.kind != .regular }) == true {
                let name = path == "-" ? "standard input" : path
                let problem = "\(name) is not a regular file, and the background process has to read it again"
                throw UsageError(entry.option, problem)
            }
        }
    }
}

extension DownloadRegistry {
    fileprivate var log: String { directory.appending(path: "run.log").plainPath }
}

extension DownloadError {
    /// Returns the error for running a queue that another process uses; `holder` is its id if it runs the queue.
    static func alreadyRunning(_ registry: DownloadRegistry, by holder: Int32?) -> DownloadError {
        let problem =
            holder.map {
                "process \($0) is already running this queue; headrace queue status shows it, and headrace queue stop "
                    + "stops it"
            } ?? "another process is changing this queue; try again when it has finished"
        return DownloadError(.busy, "\(registry.directory.plainPath): \(problem)")
    }
}
