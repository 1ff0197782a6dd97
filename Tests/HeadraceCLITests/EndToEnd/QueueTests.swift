import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs queue commands of the built tool one at a time.
@Suite(.timeLimit(.minutes(4)))
struct QueueTests {
    private let body = Response.Body.pattern(size: 300_000)

    @Test
    func `added downloads are listed and run`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                let ids = try await folder.add(server.url("/a"), server.url("/b"), options: ["--title", "T"])
                #expect(ids.count == 2 && Set(ids).count == 2)
                #expect(ids.allSatisfy { $0.count == 16 })
                var list = try await folder.list()
                #expect(list.map(\.id) == ids)
                #expect(list.map(\.place) == [1, 2])
                #expect(list.map(\.state) == ["waiting", "waiting"])
                #expect(list.map(\.title) == ["T", "T"])
                #expect(server.connectionCount == 0)
                var run = try folder.run()
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(result.errorLines.last?.hasPrefix("2 of 2 finished: 585 KiB in ") == true)
                list = try await folder.list()
                #expect(list.map(\.state) == ["finished", "finished"])
                #expect(list.map(\.id) == ids)
                let files = ["a", "b"].map { folder.files.appending(path: $0) }
                #expect(list.map(\.file) == files.map { $0.path(percentEncoded: false) })
                #expect(list.map(\.totalBytes) == [300_000, 300_000])
                for file in files { #expect(body.difference(fromFileAt: file) == nil) }
            }
        }
    }

    /// Regression: the file went to the home or temporary folder of the user that ran the queue.
    @Test(arguments: ["HOME", "TMPDIR"])
    func `a destination is relative to the directory where it was added, whatever the running process has as HOME`(
        _ variable: String
    ) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                let homes = ["one", "two"].map { folder.url.appending(path: $0) }
                for home in homes {
                    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: false)
                }
                let environments = homes.map { ["\(variable)=\($0.path(percentEncoded: false))"] }
                var add = try ToolProcess(
                    ["queue", "add", "--registry", "list", "-d", "one/files", server.url("/a").absoluteString],
                    in: folder.url,
                    environment: environments[0]
                )
                #expect(try await add.result().status == 0)
                var run = try folder.run(environment: environments[1])
                #expect(try await run.result().status == 0)
                #expect(body.difference(fromFileAt: homes[0].appending(path: "files/a")) == nil)
            }
        }
    }

    @Test
    func `by default the queue is created in the user's state directory`() async throws {
        try await withTemporaryDirectory { folder in
            let environment = ["XDG_STATE_HOME=\(folder.path(percentEncoded: false))state/deep"]
            for words in [["add", "http://127.0.0.1:1/x"], ["list", "--json"]] {
                var process = try ToolProcess(["queue"] + words, in: folder, environment: environment)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(result.outputLines.count == 1)
            }
            #expect(try FileProbe.names(in: folder.appending(path: "state/deep")) == ["headrace"])
        }
    }

    @Test
    func `the table matches the JSON, and an empty queue prints nothing for a program`() async throws {
        try await withQueueFolder { folder in
            #expect(try await folder.queue("list", "--json").output == "")
            let list = try await folder.queue("list")
            #expect(list.output == "" && list.errors == "The queue is empty.\n")
            #expect(FileProbe.size(of: folder.url.appending(path: "list")) == nil)
            let url = try #require(URL(string: "http://127.0.0.1:1/x"))
            let ids = try await folder.add(url, options: ["--priority", "high", "--paused"])
            let table = try await folder.queue("list").outputLines
            #expect(table.count == 2)
            #expect(table.last == "%1  \(ids[0].prefix(8))  paused      high  x")
            #expect(try await folder.list().map(\.priority) == [10])
        }
    }

    #if os(Linux)
    @Test
    func `an empty queue is reported on a terminal`() async throws {
        try await withQueueFolder { folder in
            let terminal = try PseudoTerminal(columns: 60, rows: 10)
            var process = try ToolProcess(
                ["queue", "list", "--registry", "list"],
                in: folder.url,
                output: terminal.path,
                terminal: terminal
            )
            #expect(try await process.result().errors == "The queue is empty.\r\n")
        }
    }
    #endif

    @Test
    func `adding a queued URL returns the same download`() async throws {
        try await withQueueFolder { folder in
            let url = try #require(URL(string: "http://127.0.0.1:1/x"))
            let first = try await folder.add(url)
            #expect(try await folder.add(url) == first)
            #expect(try await folder.list().count == 1)
        }
    }

    @Test
    func `a checksum added later applies to the queued download, and a different one is rejected`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                let url = server.url("/a")
                let (expected, other) = (String(repeating: "0", count: 64), String(repeating: "f", count: 64))
                let first = try await folder.add(url)
                let second = try await folder.add(url, options: ["--checksum", "sha256:\(expected)"])
                #expect(second == first)
                let refused = try await folder.queue(
                    "add",
                    "-d",
                    "files",
                    "--checksum",
                    "sha256:\(other)",
                    url.absoluteString
                )
                #expect(refused.status == 2)
                #expect(refused.errorLines.count == 1)
                for value in [expected, other] { #expect(refused.errors.contains(value)) }
                var run = try folder.run()
                let result = try await run.result()
                #expect(result.status != 0 && result.errors.contains(expected))
                #expect(try await folder.states() == ["failed"])
            }
        }
    }

    @Test(arguments: [
        ["--header", "Authorization: Basic x"], ["--header", "cookie: a=b"], ["http://user:pa55@127.0.0.1:1/x"],
        ["-o", "x", "http://127.0.0.1:1/y"], ["ftp://127.0.0.1/x"], ["--priority", "urgent"], ["--begin", "soon"],
    ])
    func `requests that the queue cannot store are rejected, and no file is created`(_ words: [String]) async throws {
        try await withQueueFolder { folder in
            var process = try ToolProcess(
                ["queue", "add", "--registry", "list", "-d", "new"] + words + ["http://127.0.0.1:1/x"],
                in: folder.url
            )
            let result = try await process.result()
            #expect(result.status == 2)
            #expect(result.errorLines.count == 1)
            #expect(!result.errors.contains("pa55"))
            #expect(try FileProbe.names(in: folder.url) == [".stderr", ".stdin", ".stdout"])
        }
    }

    @Test(arguments: [
        ["pause", "ffff"], ["cancel", "%9"], ["remove", "x"], ["resume"], ["retry", "--group", "none"], ["move", "%1"],
        ["move", "%1", "%9"], ["move", "all", "first"], ["remove", "%1", "ffff"], ["list", "extra"], ["run", "extra"],
        ["list", "--state", "done"],
    ])
    func `an unknown download is reported, and nothing changes`(_ words: [String]) async throws {
        try await withQueueFolder { folder in
            let url = try #require(URL(string: "http://127.0.0.1:1/x"))
            let ids = try await folder.add(url)
            var process = try ToolProcess(
                ["queue"] + words.prefix(1) + ["--registry", "list"] + words.dropFirst(),
                in: folder.url
            )
            let result = try await process.result()
            #expect(result.status == 2)
            #expect(result.output.isEmpty)
            #expect(result.errorLines.count == 1)
            #expect(result.errors.hasPrefix("headrace: "))
            #expect(try await folder.list().map(\.id) == ids)
            #expect(try await folder.states() == ["waiting"])
        }
    }

    @Test
    func `downloads are paused, resumed, moved, cancelled and removed without a running process`() async throws {
        try await withQueueFolder { folder in
            let urls = try ["a", "b", "c"].map { try #require(URL(string: "http://127.0.0.1:1/\($0)")) }
            let ids = try await folder.add(urls[0], urls[1], urls[2], options: ["--group", "g"])
            #expect(try await folder.queue("pause", "--group", "g").status == 0)
            #expect(try await folder.states() == ["paused", "paused", "paused"])
            #expect(try await folder.queue("resume", ids[0], "%2").status == 0)
            #expect(try await folder.states() == ["waiting", "waiting", "paused"])
            #expect(try await folder.queue("move", ids[2], "first").status == 0)
            #expect(try await folder.list().map(\.id) == [ids[2], ids[0], ids[1]])
            #expect(try await folder.queue("move", "%3", "after", String(ids[0].prefix(12))).status == 0)
            #expect(try await folder.list().map(\.id) == [ids[0], ids[2], ids[1]])
            #expect(try await folder.queue("move", "%1", "3").status == 0)
            #expect(try await folder.list().map(\.id) == [ids[2], ids[1], ids[0]])
            #expect(try await folder.queue("cancel", "%3").status == 0)
            #expect(try await folder.states() == ["cancelled", "waiting", "waiting"])
            #expect(try await folder.queue("remove", "--state", "waiting").status == 0)
            #expect(try await folder.list().map(\.id) == [ids[2]])
            #expect(try await folder.queue("remove", "all").status == 0)
            #expect(try await folder.list().isEmpty)
        }
    }

    @Test
    func `a failure has its status, is listed, and can be retried`() async throws {
        let routes: [String: Response] = ["/a": .sequence([.status(404)], then: .ok(body)), "/b": .ok(body)]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                for status in [4, 0] {
                    var run = try folder.run("-q")
                    let result = try await run.result()
                    #expect(result.status == status)
                    #expect(result.errorLines.count == (status == 0 ? 0 : 1))
                }
                // Failed downloads are not waiting, so another run has nothing to do and succeeds.
                let failed = try await folder.list()
                #expect(failed.map(\.state) == ["failed", "finished"])
                #expect(failed[0].code == "httpStatus")
                #expect(server.requests.count == 2)
                #expect(
                    try await folder.queue("list").output.contains(
                        "  a: The server responded with status 404, Not Found."
                    )
                )
                #expect(try await folder.queue("retry", "--state", "failed").status == 0)
                var run = try folder.run("--json")
                let result = try await run.result()
                #expect(result.status == 0)
                #expect(result.outputLines.filter { $0.contains(#""event":"finished""#) }.count == 1)
                #expect(try await folder.states() == ["finished", "finished"])
            }
        }
    }

    @Test
    func `removing deletes the files only with --files`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                var run = try folder.run()
                #expect(try await run.result().status == 0)
                #expect(try await folder.queue("remove", "%1").status == 0)
                #expect(try FileProbe.names(in: folder.files) == ["a", "b"])
                #expect(try await folder.queue("remove", "--files", "%2").status == 0)
                #expect(try FileProbe.names(in: folder.files) == ["a"])
                #expect(try await folder.list().isEmpty)
            }
        }
    }

    @Test(arguments: ["file", "file/list"])
    func `a directory that cannot hold a queue is a disk error, reported in one line`(_ registry: String) async throws {
        try await withQueueFolder(registry: registry) { folder in
            try Data().write(to: folder.url.appending(path: "file"))
            let add = try await folder.queue("add", "http://127.0.0.1:1/x")
            var run = try folder.run()
            for result in [add, try await run.result()] {
                #expect(result.status == 5, "\(result.errors)")
                #expect(result.errorLines.count == 1)
            }
        }
    }

    @Test(.enabled(if: geteuid() != 0, "An administrator may write anywhere."))
    func `a read-only queue directory is reported, and its queue can be listed`() async throws {
        try await withQueueFolder { folder in
            let url = try #require(URL(string: "http://127.0.0.1:1/x"))
            let ids = try await folder.add(url)
            let path = folder.url.appending(path: "list").path(percentEncoded: false)
            chmod(path, 0o500)
            defer { chmod(path, 0o700) }
            let result = try await folder.queue("add", "http://127.0.0.1:1/y")
            #expect(result.status == 5)
            #expect(result.errorLines.count == 1)
            #expect(try await folder.list().map(\.id) == ids)
        }
    }

    @Test(arguments: [[], ["--paused"]])
    func `the intact part of a damaged queue is run, and the damage is reported`(_ options: [String]) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                for path in ["/a", "/b", "/c"] { _ = try await folder.add(server.url(path), options: options) }
                let journal = folder.url.appending(path: "list/registry.journal")
                var bytes = try FileProbe.bytes(of: journal)
                let path = try #require(bytes.firstRange(of: Array("/b\"".utf8)))
                bytes[path.lowerBound] = UInt8(ascii: "X")
                try Data(bytes).write(to: journal)
                for words in [["list"], ["status"]] {
                    let shown = try await folder.queue(words)
                    #expect(shown.status == 0 && shown.errorLines.count == 2, "\(shown.errors)")
                    #expect(shown.errors.contains("/list/: Line ") && shown.errors.contains(" is damaged"))
                }
                #expect(try await folder.list().count == 2)
                var run = try folder.run()
                let result = try await run.result()
                #expect(result.status == 0)
                #expect(try await folder.queue("list").errors.isEmpty)
                #expect(result.errorLines.contains { $0.contains("/list/: Line ") && $0.contains(" is damaged") })
                let states = try await folder.states()
                #expect(states == (options.isEmpty ? ["finished", "finished"] : ["paused", "paused"]))
            }
        }
    }

    @Test func `a queue sends the methods and bodies of its downloads`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withQueueFolder { folder in
                try Data("bytes".utf8).write(to: folder.url.appending(path: "body"))
                _ = try await folder.add(server.url("/a"), options: ["--data", "q=1"])
                _ = try await folder.add(server.url("/b"), options: ["--data-file", "body", "--method", "PUT"])
                let large = String(repeating: "x", count: 65_537)
                let refused = try await folder.queue("add", "--data", large, server.url("/c").absoluteString)
                #expect(refused.status != 0 && refused.errors.contains("it has 65537 bytes"), "\(refused.errors)")
                var run = try folder.run("-j", "1")
                let result = try await run.result()
                #expect(result.status == 0, "\(result.errors)")
                let sent = server.requests.map { "\($0.method) \($0.path) \(String(decoding: $0.body, as: UTF8.self))" }
                #expect(sent == ["POST /a q=1", "PUT /b bytes"])
            }
        }
    }
}
