import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs a queue with the built tool while other processes send commands, signals and kills.
@Suite(.timeLimit(.minutes(4)))
struct QueueRunTests {
    private let body = Response.Body.pattern(size: 300_000)
    private let file = Response.file(Resource(size: 300_000))

    @Test
    func `commands are carried out during a run`() async throws {
        let gate = try Gate()
        let held = Response.ok(body).held(after: 1000, until: gate)
        try await withFaultServer(.routes(["/a": held, "/b": .ok(body), "/c": .ok(body), "/d": .ok(body)])) { server in
            try await withQueueFolder { folder in
                let (a, b) = (try await folder.add(server.url("/a")), try await folder.add(server.url("/b")))
                var run = try folder.run("-j", "1")
                try await server.waitForRequests(count: 1)
                let (c, d) = (try await folder.add(server.url("/c")), try await folder.add(server.url("/d")))
                try await folder.waitUntil { $0.count == 4 }
                #expect(try await folder.queue("move", d[0], "before", c[0]).status == 0)
                #expect(try await folder.queue("pause", b[0]).status == 0)
                try await folder.waitUntil { $0.map(\.id) == [a, b, d, c].map { $0[0] } && $0[1].state == "paused" }
                #expect(try await folder.queue("cancel", a[0]).status == 0)
                // A run does not end while a download that was paused during it is paused.
                try await folder.waitUntil { $0.map(\.state) == ["cancelled", "paused", "finished", "finished"] }
                #expect(try await folder.queue("remove", b[0]).status == 0)
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(server.requests.map(\.path) == ["/a", "/d", "/c"])
                #expect(try await folder.states() == ["cancelled", "finished", "finished"])
                #expect(try FileProbe.names(in: folder.files) == ["c", "d"])
                #expect(result.errorLines.contains("headrace: a: cancelled (\(server.url("/a").absoluteString))"))
                #expect(result.errorLines.last?.hasPrefix("2 of 2 finished: ") == true)
            }
        }
        gate.open()
    }

    @Test
    func `a run whose queue cannot be saved exits with 5`() async throws {
        let gate = try Gate()
        try await withFaultServer(file.held(after: 1000, until: gate)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var run = try folder.run()
                try await server.waitForRequests(count: 1)
                let journal = URL(filePath: folder.registryPath).appending(path: "registry.journal")
                let blocked = journal.appendingPathExtension("new").appending(path: "x")
                try FileManager.default.createDirectory(at: blocked, withIntermediateDirectories: true)
                try FileManager.default.removeItem(at: journal)
                gate.open()
                let result = try await run.result()
                #expect(result.status == 5, "\(result.errors)")
                #expect(result.errors.contains("registry.journal.new"))
                #expect(try FileProbe.names(in: folder.files) == ["a"])
            }
        }
        gate.open()
    }

    @Test
    func `a download paused during a run resumes its partial file`() async throws {
        let gate = try Gate()
        let held = file.held(after: 100_000, until: gate)
        let routes: [String: Response] = [
            "/a": .sequence([held], then: file), "/b": .ok(body).held(after: 1, until: gate),
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run()
                try await server.waitUntil { $0.requests.first { $0.path == "/a" }?.bodyBytesSent == 100_000 }
                #expect(try await folder.queue("pause", "%1").status == 0)
                try await folder.waitUntil { $0[0].state == "paused" }
                #expect(try await folder.queue("resume", "%1").status == 0)
                try await folder.waitUntil { $0[0].state == "finished" }
                gate.open()
                let result = try await run.result()
                #expect(result.status == 0)
                #expect(result.errorLines.filter { $0.hasPrefix("a: ") }.count == 5, "\(result.errors)")
                #expect(result.errorLines.contains("a: resuming with 97.6 KiB of 292 KiB already downloaded"))
                #expect(result.errorLines.contains("a: paused"))
                #expect(result.errorLines.filter { $0.hasPrefix("a: finished") }.count == 1)
                #expect(body.difference(fromFileAt: folder.files.appending(path: "a")) == nil)
            }
        }
    }

    @Test
    func `a retried download is reported again and counts by its final result`() async throws {
        let gate = try Gate()
        let routes: [String: Response] = [
            "/a": .sequence([.status(404)], then: .ok(body)), "/b": .ok(body).held(after: 1, until: gate),
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run("--json")
                try await folder.waitUntil { $0[0].state == "failed" }
                #expect(try await folder.queue("retry", "%1").status == 0)
                try await folder.waitUntil { $0[0].state == "finished" }
                gate.open()
                let result = try await run.result()
                #expect(result.status == 0)
                let events = result.outputLines.filter { $0.contains("/a\"") }.compactMap {
                    $0.split(separator: "\"").dropFirst(3).first
                }
                #expect(
                    events.filter { ["started", "failed", "finished"].contains($0) } == [
                        "started", "failed", "started", "finished",
                    ]
                )
            }
        }
    }

    @Test
    func `a run waits for a begin time unless the download is resumed`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                let late = try await folder.add(server.url("/late"), options: ["--begin", "+1h"])
                let soon = try await folder.add(server.url("/soon"))
                var run = try folder.run()
                try await folder.waitUntil { $0.map(\.state) == ["waiting", "finished"] }
                #expect(server.requests.map(\.path) == ["/soon"])
                #expect(try await folder.queue("list").output.contains("  late: starts at "))
                #expect(try await folder.queue("resume", late[0]).status == 0)
                #expect(try await run.result().status == 0)
                #expect(server.requests.map(\.path) == ["/soon", "/late"])
                #expect(try await folder.list().map(\.id) == late + soon)
            }
        }
    }

    @Test
    func `a killed run is resumed by the next one`() async throws {
        let gate = try Gate()
        let held = file.held(after: 200_000, until: gate)
        try await withFaultServer(.sequence([held], then: file)) { server in
            try await withQueueFolder { folder in
                let ids = try await folder.add(server.url("/a"))
                var killed = try folder.run()
                try await folder.waitForFirstPart(size: 200_000)
                killed.send(SIGKILL)
                #expect(try await killed.result().status == nil)
                var run = try folder.run("-v")
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(try await folder.list().map(\.id) == ids)
                #expect(try await folder.states() == ["finished"])
                #expect(try FileProbe.names(in: folder.files) == ["a"])
                #expect(body.difference(fromFileAt: folder.files.appending(path: "a")) == nil)
            }
        }
        gate.open()
    }

    @Test
    func `repeatedly killed runs lose no downloads and leave each file once`() async throws {
        let bodies = (0..<12).map { Response.Body.pattern(seed: UInt64($0 + 1), size: 1000 << ($0 % 9)) }
        let routes = bodies.enumerated().map {
            ("/\($0)", Response.file(Resource($1)).limited(bytesPerSecond: 400_000))
        }
        try await withFaultServer(.routes(Dictionary(uniqueKeysWithValues: routes))) { server in
            try await withQueueFolder { folder in
                let ids = try await folder.add(bodies.indices.map { server.url("/\($0)") })
                var finished: Set<String> = []
                var random = SeededRandom(seed: 1)
                for kill in 1...10 {
                    var killed = try folder.run()
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...300, using: &random)))
                    killed.send(SIGKILL)
                    _ = try await killed.result()
                    let list = try await folder.list()
                    #expect(list.map(\.id) == ids, "after kill \(kill)")
                    let nowFinished = Set(list.filter { $0.state == "finished" }.map(\.id))
                    #expect(nowFinished.isSuperset(of: finished), "after kill \(kill)")
                    finished = nowFinished
                }
                var run = try folder.run("-v")
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(try await folder.list().map(\.id) == ids)
                #expect(try await folder.states() == bodies.map { _ in "finished" })
                #expect(try FileProbe.names(in: folder.files) == bodies.indices.map { "\($0)" }.sorted())
                for (number, body) in bodies.enumerated() {
                    #expect(body.difference(fromFileAt: folder.files.appending(path: "\(number)")) == nil)
                }
            }
        }
    }

    /// Regression: it continued beside the run of the replacement queue, and took that run's commands.
    @Test(arguments: ["-v", "-q", "--json"])
    func `a run whose queue is removed stops with an error and does not touch its replacement`(
        _ option: String
    ) async throws {
        let gate = try Gate()
        let held = file.held(after: 200_000, until: gate)
        try await withFaultServer(.routes(["/a": .sequence([held], then: file), "/b": file])) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var run = try folder.run("--watch", option)
                try await folder.waitForFirstPart(size: 200_000)
                let list = folder.url.appending(path: "list")
                // In one step, since the run may create a folder in it meanwhile.
                let removed = folder.url.appending(path: "removed")
                try FileManager.default.moveItem(at: list, to: removed)
                try? FileManager.default.removeItem(at: removed)
                _ = try await folder.add(server.url("/b"), server.url("/a"))
                let result = try await run.result()
                #expect(result.status == 5)
                let messages = result.errorLines.filter { $0.hasPrefix("headrace: ") }
                #expect(messages.count == 1, "\(result.errors)")
                #expect(messages.first?.contains(list.path(percentEncoded: false)) == true, "\(result.errors)")
                if option == "--json" {
                    #expect(result.outputLines.last?.contains(#""event":"error","code":"fileSystem""#) == true)
                }
                #expect(try await folder.states() == ["waiting", "waiting"])
                #expect(server.requests.map(\.path) == ["/a"])
                // The partial file is resumed.
                var next = try folder.run("-j", "1")
                #expect(try await next.result().status == 0)
                let ranges = server.requests.map { $0["Range"] }
                #expect(ranges == [nil, nil, "bytes=200000-"])
                #expect(body.difference(fromFileAt: folder.files.appending(path: "a")) == nil)
            }
        }
        gate.open()
    }

    @Test
    func `a second run is rejected with the process of the first`() async throws {
        try await withFaultServer(.ok(body).stalled(after: 1000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"))
                var first = try folder.run()
                try await server.waitForRequests(count: 1)
                var second = try folder.run()
                let result = try await second.result()
                #expect(result.status == 5)
                #expect(result.errorLines.count == 1)
                #expect(result.errors.contains("process \(first.id)"))
                first.send(SIGTERM)
                #expect(try await first.result().status == 143)
            }
        }
    }

    @Test
    func `X05 a signal stops the run, and unfinished downloads remain in the queue`() async throws {
        let routes = ["/a": Response.sequence([file.stalled(after: 100_000)], then: file), "/b": file]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(
                    server.url("/a"),
                    server.url("/b"),
                    server.url("/c"),
                    options: ["--group", "g"]
                )
                #expect(try await folder.queue("pause", "%3").status == 0)
                var stopped = try folder.run("-j", "1")
                try await server.waitUntil { $0.requests.first?.bodyBytesSent == 100_000 }
                stopped.send(SIGINT)
                let result = try await stopped.result()
                #expect(result.status == 130)
                #expect(result.errorLines.filter { $0.hasPrefix("headrace: ") }.count == 1)
                #expect(
                    result.errorLines.last?.hasPrefix("headrace: interrupted; unfinished downloads remain in the queue")
                        == true
                )
                #expect(try await folder.states() == ["waiting", "waiting", "paused"])
                var run = try folder.run()
                #expect(try await run.result().status == 0)
                #expect(try await folder.states() == ["finished", "finished", "paused"])
                #expect(body.difference(fromFileAt: folder.files.appending(path: "a")) == nil)
            }
        }
    }

    @Test(arguments: [[], ["-q"], ["--json"]])
    func `a run with --watch waits for downloads until a signal`(_ options: [String]) async throws {
        try await withFaultServer(.routes(["/a": .ok(body), "/b": .ok(body)])) { server in
            try await withQueueFolder { folder in
                var run = try folder.run("--watch", options.first ?? "-v")
                _ = try await folder.add(server.url("/a"))
                try await folder.waitUntil { $0.first?.state == "finished" }
                _ = try await folder.add(server.url("/b"), server.url("/none"))
                try await folder.waitUntil { $0.map(\.state) == ["finished", "finished", "failed"] }
                run.send(SIGTERM)
                let result = try await run.result()
                // Nothing was interrupted, so the downloads determine the status.
                #expect(result.status == 4, "\(result.errors)")
                #expect(result.errorLines.filter { $0.hasPrefix("headrace: none: ") }.count == 1)
            }
        }
    }

    @Test
    func `with any verbosity a run has the status of its failures`() async throws {
        try await withFaultServer(.routes(["/a": .ok(body)])) { server in
            for options in ["-q", "-v", "--json"] {
                try await withQueueFolder { folder in
                    _ = try await folder.add(server.url("/none"), server.url("/a"))
                    var run = try folder.run(options)
                    let result = try await run.result()
                    #expect(result.status == 4)
                    #expect(result.errorLines.filter { $0.hasPrefix("headrace: none: ") }.count == 1)
                }
            }
        }
    }

    #if os(Linux)
    @Test
    func `downloads added during a run appear in the status area`() async throws {
        let gate = try Gate()
        try await withFaultServer(.ok(body).held(after: 100_000, until: gate)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/first"))
                let terminal = try PseudoTerminal(columns: 60, rows: 10)
                var run = try folder.run(terminal: terminal)
                try await server.waitForRequests(count: 1)
                _ = try await folder.add(server.url("/second"))
                var screen = ""
                while !screen.split(separator: "\u{1B}[?2026h").contains(where: { frame in
                    ["first  ", "second  ", "0/2 done  "].allSatisfy(frame.contains)
                }) {
                    try await Task.sleep(for: .milliseconds(20))
                    screen += String(decoding: terminal.read(), as: UTF8.self)
                }
                gate.open()
                let result = try await run.result()
                #expect(result.status == 0)
                #expect(result.errors.contains("second: finished"))
                #expect(result.errors.contains("2 of 2 finished: 585 KiB in "))
            }
        }
    }
    #endif
}
