import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs a queue in the background with the built tool, and queries and stops it.
@Suite(.timeLimit(.minutes(4)))
struct QueueProcessTests {
    private struct Status: Decodable {
        let processID: pid_t?
        let log: String?
        let waiting: Int
        let running: Int
        let finished: Int
    }

    private let file = Response.file(Resource(size: 300_000))

    private func status(_ folder: QueueFolder) async throws -> Status {
        let result = try await folder.queue("status", "--json")
        try #require(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode(Status.self, from: Data(result.output.utf8))
    }

    /// Starts a background run, and stops it after the body.
    private func withRun(_ folder: QueueFolder, _ body: (pid_t) async throws -> Void) async throws {
        let started = try await folder.queue("run", "--background", "--timeout", "600")
        #expect(started.status == 0, "\(started.errors)")
        let id = try #require(started.output.firstMatch(of: /^Process (\d+) is running the queue/)).1
        let process = try #require(pid_t(id))
        defer {
            // If it has ended, another process may have its id.
            if getsid(process) == process { kill(process, SIGKILL) }
        }
        try await body(process)
    }

    @Test
    func `a queue is run in the background, shown, changed and stopped`() async throws {
        let routes = ["/a": Response.sequence([file.stalled(after: 100_000)], then: file), "/b": file]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                try await withRun(folder) { process in
                    // It has its own session, so closing a terminal does not end it.
                    #expect(getsid(process) == process)
                    try await server.waitUntil { $0.requests.first?.bodyBytesSent == 100_000 }
                    _ = try await folder.add(server.url("/b"))
                    try await folder.waitUntil { $0.map(\.state) == ["running", "finished"] }
                    let status = try await status(folder)
                    #expect(status.processID == process)
                    #expect(status.waiting == 0 && status.running == 1 && status.finished == 1)
                    #expect(
                        try await folder.queue("status").outputLines.first == "Process \(process) is running the queue."
                    )
                    let second = try await folder.queue("run", "--background")
                    #expect(second.status == 5 && second.errorLines.count == 1)
                    #expect(
                        second.errors.contains(
                            "process \(process) is already running this queue; headrace queue status"
                        )
                    )
                    let stop = try await folder.queue("stop")
                    #expect(stop.status == 0, "\(stop.errors)")
                    #expect(
                        stop.output == "Process \(process) has stopped; unfinished downloads remain in the queue.\n"
                    )
                    #expect(try await folder.states() == ["waiting", "finished"])
                    let after = try await self.status(folder)
                    #expect(after.processID == nil)
                    let log = try String(
                        decoding: FileProbe.bytes(of: URL(filePath: #require(after.log))),
                        as: UTF8.self
                    )
                    #expect(log.contains("b: finished, ") && log.contains("headrace: interrupted"), "\(log)")
                }
                #expect(try await folder.queue("stop").output == "No process is running the queue.\n")
                var run = try folder.run()
                #expect(try await run.result().status == 0)
                #expect(try await folder.states() == ["finished", "finished"])
            }
        }
    }

    @Test
    func `queue wait reports that the process that ran the queue has ended`() async throws {
        try await withFaultServer(file.stalled(after: 100_000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                let here = folder.url.appending(path: "wait")
                try FileManager.default.createDirectory(at: here, withIntermediateDirectories: false)
                try await withRun(folder) { process in
                    let words = ["queue", "wait", "--registry", folder.registryPath, "all"]
                    var wait = try ToolProcess(words, in: here)
                    // Each takes longer than the start of the waiting process, which prints nothing yet.
                    for _ in 0..<3 { #expect(try await status(folder).processID == process) }
                    kill(process, SIGKILL)
                    let errors = here.appending(path: ".stderr")
                    while try FileProbe.bytes(of: errors).isEmpty { try await Task.sleep(for: .milliseconds(20)) }
                    wait.send(SIGTERM)
                    let result = try await wait.result()
                    #expect(result.errors.contains("no process is running the queue"), "\(result.errors)")
                }
            }
        }
    }

    @Test
    func `of several runs started at once one succeeds, and the others name its process`() async throws {
        try await withFaultServer(file.stalled(after: 100_000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var first = try folder.run("--background")
                var second = try folder.run("--background")
                var third = try folder.run("--background")
                let results = [try await first.result(), try await second.result(), try await third.result()]
                let status = try await status(folder)
                #expect(try await folder.queue("stop").status == 0)
                let process = try #require(status.processID)
                let winner = try #require(results.first { $0.status == 0 })
                #expect(winner.output.hasPrefix("Process \(process) is running the queue"))
                let losers = results.filter { $0.status == 5 }
                #expect(losers.count == 2, "\(results.map { ($0.status, $0.output, $0.errors) })")
                for loser in losers {
                    #expect(loser.errorLines.count == 1, "\(loser.errors)")
                    #expect(
                        loser.errors.contains("process \(process) is already running this queue"),
                        "\(loser.errors)"
                    )
                }
            }
        }
    }

    @Test
    func `stopping a slow run prints the process that it waits for`() async throws {
        try await withFaultServer(file.stalled(after: 100_000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                try await withRun(folder) { process in
                    kill(process, SIGSTOP)
                    var stop = try ToolProcess(["queue", "stop", "--registry", "list"], in: folder.url)
                    let errors = folder.url.appending(path: ".stderr")
                    while try !String(decoding: FileProbe.bytes(of: errors), as: UTF8.self)
                        .contains("waiting up to a minute for process \(process) to stop")
                    {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    kill(process, SIGCONT)
                    let result = try await stop.result()
                    #expect(result.status == 0 && result.errorLines.count == 1, "\(result.errors)")
                }
            }
        }
    }

    @Test
    func `a background run that cannot start is reported with its status`() async throws {
        try await withQueueFolder { folder in
            let lock = folder.url.appending(path: "list/registry.lock")
            try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: true)
            let result = try await folder.queue("run", "--background")
            #expect(result.status == 5)
            #expect(result.output.isEmpty)
            #expect(result.errorLines.count == 1 && result.errors.contains("registry.lock"), "\(result.errors)")
        }
    }

    #if os(Linux)
    @Test
    func `a process that does not run the queue is not stopped`() async throws {
        try await withQueueFolder { folder in
            _ = try await folder.add(try #require(URL(string: "http://127.0.0.1:1/x")), options: ["--paused"])
            // As after a killed run whose process id was reused by this process.
            try Data("\(getpid())\n".utf8).write(to: folder.url.appending(path: "list/registry.lock"))
            #expect(try await status(folder).processID == nil)
            #expect(try await folder.queue("stop").output == "No process is running the queue.\n")
            let run = try await folder.queue("run", "--background")
            #expect(run.status == 0 && run.errors.contains("paused"), "\(run.errors)")
        }
    }
    #endif

    @Test(arguments: [
        ("--netrc-file", "-"), ("--cookies", "-"), ("--netrc-file", "/dev/null"), ("--cacert", "/dev/null"),
    ])
    func `a file that can be read only once is rejected if another process has to read it`(
        _ option: String,
        path: String
    ) async throws {
        try await withQueueFolder { folder in
            let name = path == "-" ? "standard input" : path
            let message = "headrace: \(option): \(name) is not a regular file, and"
            let run = try await folder.queue("run", "--background", option, path)
            #expect(run.status == 2 && run.output.isEmpty)
            #expect(run.errors == "\(message) the background process has to read it again\n")
        }
    }

    @Test
    func `a run with only paused downloads suggests queue resume`() async throws {
        try await withQueueFolder { folder in
            _ = try await folder.add(try #require(URL(string: "http://127.0.0.1:1/x")), options: ["--paused"])
            var run = try folder.run()
            let result = try await run.result()
            #expect(result.status == 0)
            let hint =
                "no download is waiting; 1 is paused: resume with headrace queue resume --state paused --registry "
            #expect(result.errors == "\(hint)\(folder.registryPath)\n")
            // The suggested command works.
            #expect(try await folder.queue("resume", "--state", "paused").status == 0)
            #expect(try await folder.states() == ["waiting"])
        }
    }

    @Test
    func `a run with only failed downloads suggests queue retry`() async throws {
        try await withFaultServer(.status(404)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var first = try folder.run()
                #expect(try await first.result().status == 4)
                var run = try folder.run()
                let result = try await run.result()
                #expect(result.status == 0)
                let hint = "no download is waiting; 2 have failed: retry with headrace queue retry --state failed"
                #expect(result.errors == "\(hint) --registry \(folder.registryPath)\n")
            }
        }
    }

    @Test
    func `removing reports the partial file that it keeps`() async throws {
        try await withFaultServer(file.truncated(after: 100_000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run("-q", "--retries", "0")
                #expect(try await run.result().status == 3)
                let left = try await folder.queue("remove", "%1")
                #expect(left.status == 0)
                let part = try #require(try FileProbe.names(in: folder.files).first { $0.hasSuffix(".part") })
                #expect(
                    left.errorLines.count == 3 && left.errors.contains("/files/\(part): adding the URL again "),
                    "\(left.errors)"
                )
                let deleted = try await folder.queue("remove", "--files", "%2")
                #expect(deleted.errorLines.count == 2 && deleted.errorLines.first == "headrace: removed b (%2)")
                #expect(try FileProbe.names(in: folder.files).allSatisfy { $0.hasPrefix("a.") })
            }
        }
    }

    #if os(Linux)
    @Test
    func `an implausible terminal size is limited`() async throws {
        try await withFaultServer(file.limited(bytesPerSecond: 500_000)) { server in
            try await withTemporaryDirectory { folder in
                let terminal = try PseudoTerminal(columns: 0, rows: 0)
                var process = try ToolProcess(
                    ["get", server.url("/a").absoluteString],
                    in: folder,
                    terminal: terminal,
                    environment: ["COLUMNS=\(Int.max)", "LINES=\(Int.max)"]
                )
                let result = try await process.result()
                #expect(result.status == 0 && result.errors.contains("a: finished"), "\(result.errors)")
            }
        }
    }

    @Test
    func `a terminal without a size uses COLUMNS and LINES`() async throws {
        try await withQueueFolder { folder in
            _ = try await folder.add(
                try #require(URL(string: "http://127.0.0.1:1/x")),
                options: ["--paused", "--title", String(repeating: "long ", count: 30)]
            )
            for (environment, width) in [([], 80), (["COLUMNS=50"], 50), (["COLUMNS=many"], 80)] {
                let terminal = try PseudoTerminal(columns: 0, rows: 0)
                var process = try ToolProcess(
                    ["queue", "list", "--registry", "list"],
                    in: folder.url,
                    output: terminal.path,
                    terminal: terminal,
                    environment: environment
                )
                let lines = try await process.result().errors.split(separator: "\r\n")
                #expect(lines.map(\.count).max() == width, "\(lines)")
            }
        }
    }
    #endif
}
