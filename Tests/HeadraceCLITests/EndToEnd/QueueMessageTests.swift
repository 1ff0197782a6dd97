import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Messages of the built tool about queue commands that have no effect, or not yet.
@Suite(.timeLimit(.minutes(4)))
struct QueueMessageTests {
    private let body = Response.Body.pattern(size: 300_000)

    @Test
    func `commands that a killed run did not take are carried out by the next command`() async throws {
        try await withFaultServer(.ok(body).stalled(after: 1000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run("-j", "1")
                try await server.waitForRequests(count: 1)
                run.send(SIGSTOP)
                #expect(try await folder.queue("pause", "%2").status == 5)
                let inbox = folder.url.appending(path: "list/inbox")
                #expect(try FileProbe.names(in: inbox).count == 1)
                run.send(SIGKILL)
                #expect(try await run.result().status == nil)
                #expect(try await folder.states() == ["waiting", "paused"])
                #expect(try FileProbe.names(in: inbox) == [])
            }
        }
    }

    @Test
    func `without a running process each command prints what it did and how to run the queue`() async throws {
        try await withQueueFolder { folder in
            let urls = try ["a", "b"].map { try #require(URL(string: "http://h.example/\($0)")) }
            _ = try await folder.add(urls)
            let run =
                "headrace: no process is running the queue; start it with: headrace queue run --registry list"
            for (words, line) in [
                ("pause %1", "headrace: paused a (%1)"), ("resume %1", "headrace: resumed a (%1)"),
                ("move %2 first", "headrace: moved b (%2)"), ("cancel %1", "headrace: cancelled a (%1)"),
            ] {
                let result = try await folder.queue(words.split(separator: " ").map(String.init))
                #expect(result.status == 0)
                #expect(result.errorLines == [line, run], "\(words): \(result.errors)")
            }
            let removed = try await folder.queue("remove", "all")
            #expect(removed.errorLines == ["headrace: removed 2 downloads", run], "\(removed.errors)")
        }
    }

    @Test
    func `a run waits while a download is paused, and ends once it has ended`() async throws {
        let gate = try Gate()
        try await withFaultServer(.ok(body).held(after: 1000, until: gate)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var run = try folder.run()
                try await server.waitForRequests(count: 1)
                #expect(try await folder.queue("pause", "%1").status == 0)
                #expect(try await folder.states() == ["paused"])
                let resumed = try await folder.queue("resume", "%1")
                #expect(resumed.errorLines == ["headrace: resumed a (%1)"], "\(resumed.errors)")
                gate.open()
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(
                    result.errors.contains("headrace: waiting, because 1 download is paused; "),
                    "\(result.errors)"
                )
                #expect(try await folder.states() == ["finished"])
            }
        }
    }

    @Test
    func `a run ends once the download that it waits for is cancelled`() async throws {
        try await withFaultServer(.ok(body).stalled(after: 1000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var run = try folder.run()
                try await server.waitForRequests(count: 1)
                #expect(try await folder.queue("pause", "%1").status == 0)
                #expect(try await folder.queue("cancel", "%1").status == 0)
                #expect(try await run.result().status == 0)
            }
        }
    }

    /// Regression: it was reported as done.
    @Test(arguments: ["pause %1", "move %1 last", "remove -q --files %1", "add --json URL"])
    func `a command that the running process does not carry out in time is reported and carried out later`(
        _ command: String
    ) async throws {
        try await withFaultServer(.ok(body).stalled(after: 1000)) { server in
            try await withQueueFolder { folder in
                let ids = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run("--watch", "-j", "1")
                try await server.waitForRequests(count: 1)
                run.send(SIGSTOP)
                let words = command.split(separator: " ").map(String.init)
                let result = try await folder.queue(words.map { $0 == "URL" ? server.url("/c").absoluteString : $0 })
                #expect(result.status == 5)
                let message = "list/: process \(run.id), which runs the queue, has not carried out the command yet. "
                #expect(result.errorLines.count == 1 && result.errors.contains(message), "\(result.errors)")
                if command.hasPrefix("add") {
                    #expect(result.outputLines.first?.contains(#""place":null"#) == true, "\(result.output)")
                    #expect(result.outputLines.last?.contains(#""code":"busy""#) == true, "\(result.output)")
                }
                run.send(SIGCONT)
                try await folder.waitUntil { list in
                    switch words[0] {
                    case "pause": list[0].state == "paused"
                    case "move": list.map(\.id) == ids.reversed()
                    case "remove": list.map(\.id) == [ids[1]]
                    default: list.count == 3
                    }
                }
                run.send(SIGTERM)
                _ = try await run.result()
            }
        }
    }

    @Test(arguments: ["pause %1", "resume %2", "cancel %1", "remove %2", "move %1 last"])
    func `a queue change that cannot be saved is reported and not made`(_ command: String) async throws {
        try await withQueueFolder { folder in
            // Longer than the file size limit of the shell.
            let title = ["--title", String(repeating: "x", count: 60_000)]
            _ = try await folder.add(try #require(URL(string: "http://127.0.0.1:1/a")), options: title)
            _ = try await folder.add(try #require(URL(string: "http://127.0.0.1:1/b")), options: ["--paused"])
            let before = try await folder.list()
            let words = command.split(separator: " ").map(String.init)
            let result = try await folder.queue(words, after: "trap '' XFSZ; ulimit -f 16")
            #expect(result.status == 5)
            #expect(result.errorLines.count == 1 && result.errors.contains("registry.journal"), "\(result.errors)")
            let after = try await folder.list()
            #expect(after.map(\.id) == before.map(\.id) && after.map(\.state) == before.map(\.state))
        }
    }

    /// Regression: it was reported for each file, and retried without a pause.
    @Test func `the running process reports only once that the queue cannot be saved`() async throws {
        try await withQueueFolder { folder in
            let title = ["--paused", "--title", String(repeating: "x", count: 60_000)]
            _ = try await folder.add(try #require(URL(string: "http://127.0.0.1:1/a")), options: title)
            var run = try folder.run("--watch", after: "trap '' XFSZ; ulimit -f 16")
            let lock = folder.url.appending(path: "list/registry.lock")
            let holder = Array("\(run.id)\n".utf8)
            while try FileProbe.bytes(of: lock).suffix(holder.count) != holder[...] { await Task.yield() }
            #expect(try await folder.queue("add", "http://127.0.0.1:1/b").status == 5)
            run.send(SIGTERM)
            let errors = try await run.result().errorLines
            #expect(errors.count { $0.contains("registry.journal") } == 1, "\(errors)")
        }
    }

    @Test
    func `a command without effect, or with an unexpected one, says so`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var run = try folder.run("-q")
                #expect(try await run.result().status == 0)
                _ = try await folder.add(server.url("/b"), options: ["--paused"])
                for (words, lines) in [
                    (
                        ["pause", "%1", "%2"],
                        ["a (%1): finished; nothing to pause", "b (%2): paused; nothing to pause"]
                    ),
                    (["pause", "-q", "%1"], []), (["resume", "%1"], ["a (%1): finished; nothing to resume"]),
                    (["cancel", "-q", "all"], []),
                    (
                        ["cancel", "all"],
                        [
                            "a (%1): finished; nothing to cancel",
                            "b (%2): cancelled; nothing to cancel",
                        ]
                    ),
                    (
                        ["resume", "%2"],
                        [
                            "b (%2): was cancelled; will download again from the beginning", "resumed b (%2)",
                            "no process is running the queue; start it with: headrace queue run --registry list",
                        ]
                    ),
                    (["retry", "--state", "failed"], ["no download in the queue matches; nothing was changed"]),
                ] {
                    var process = try ToolProcess(
                        ["queue", words[0], "--registry", "list"] + words.dropFirst(),
                        in: folder.url
                    )
                    let result = try await process.result()
                    #expect(result.status == 0)
                    #expect(result.errorLines == lines.map { "headrace: \($0)" }, "\(words)")
                }
                try FileManager.default.removeItem(at: folder.files.appending(path: "a"))
                let again = try await folder.queue("resume", "%1")
                #expect(
                    again.errorLines.first == "headrace: a (%1): finished, but the file is missing; will download again"
                )
                #expect(try await folder.states() == ["waiting", "waiting"])
            }
        }
    }

    @Test
    func `adding reports downloads already in the queue and that no process runs it`() async throws {
        try await withQueueFolder { folder in
            let (a, b) = ("http://127.0.0.1:1/a", "http://127.0.0.1:1/b")
            let hint =
                "headrace: no process is running the queue; start it with: headrace queue run --registry list"
            let first = try await folder.queue("add", "--paused", a)
            #expect(first.status == 0 && first.errorLines == [hint])
            let second = try await folder.queue("add", b, a, b)
            #expect(second.status == 0)
            #expect(
                second.errorLines == [
                    "headrace: \(a) is already in the queue as %1 (paused)",
                    "headrace: \(b) was given more than once", hint,
                ]
            )
            #expect(second.outputLines.count == 3 && Set(second.outputLines).count == 2)
            let quiet = try await folder.queue("add", "-q", a)
            #expect(quiet.errors.isEmpty && quiet.outputLines == first.outputLines)
        }
    }

    @Test
    func `a begin time is listed in local time, as it was given`() async throws {
        try await withQueueFolder { folder in
            let words = ["add", "--begin", "2099-05-01T22:00", "http://127.0.0.1:1/x"]
            #expect(try await folder.queue(words, after: "export TZ=HERE-2").status == 0)
            let list = try await folder.queue(["list"], after: "export TZ=HERE-2").output
            #expect(list.contains("x: starts at 2099-05-01T22:00\n"), "\(list)")
            let json = try await folder.queue(["list", "--json"], after: "export TZ=HERE-2").output
            #expect(json.contains(#""begin":"2099-05-01T20:00:00Z""#), "\(json)")
        }
    }
}
