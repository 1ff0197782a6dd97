import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with bad servers, bad disks, bad command lines and signals.
@Suite(.timeLimit(.minutes(4)))
struct FailureTests {
    private static let body = Response.Body.pattern(size: 300_000)

    private static let responses: [(String, Response, Int)] = [
        ("missing", .status(404), 4),
        ("broken", .status(503), 4),
        ("loop", .redirect(to: "/loop"), 4),
        ("odd redirect", .redirect(to: "ftp://127.0.0.1/x"), 4),
        ("truncated", .ok(body).truncated(after: 100_000), 3),
        ("reset", .ok(body).truncated(after: 100_000, by: .reset), 3),
        ("stalled", .ok(body).stalled(after: 100_000), 3),
        ("silent", .ok(body).headTruncated(after: 10, by: .stall), 3),
        ("nothing", .nothing(by: .fin), 3),
        ("garbage", .raw("What do you want?\n"), 7),
        ("worded length", .ok(body).claimingLength("many"), 7),
        ("huge length", .ok(body).claimingLength("9223372036854775808"), 7),
        ("endless header", .ok(body).endlessHeader, 7),
        ("endless headers", .ok(body).endlessHeaders, 7),
    ]

    @Test(arguments: responses.map(\.0))
    func `a bad response has its exit status and one line of output, and leaves no file`(_ name: String) async throws {
        let (_, response, status) = try #require(Self.responses.first { $0.0 == name })
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/loop").absoluteString
                let options = ["-q", "--retries", "0", "--timeout", "0.5", "-o", "x"]
                var process = try ToolProcess(["get"] + options + [url], in: folder)
                let result = try await process.result()
                #expect(result.status == status, "\(result.errors)")
                #expect(result.errorLines.count == 1)
                #expect(result.errors.hasPrefix("headrace: x: "))
                #expect(result.errors.hasSuffix(" (\(url))\n"))
                #expect(FileProbe.size(of: folder.appending(path: "x")) == nil)
            }
        }
    }

    @Test
    func `a closed port and an unknown host name are network errors`() async throws {
        try await withFaultServer(.ok(), isListening: false) { server in
            try await withTemporaryDirectory { folder in
                for url in [server.url("/x").absoluteString, "http://headrace.invalid/x"] {
                    let result = try await ToolProcess.run("get", "-q", "--retries", "0", url, in: folder)
                    #expect(result.status == 3)
                }
            }
        }
    }

    @Test(arguments: [
        (["/none", "/gone"], 4), (["/none", "/cut"], 1), (["/none", "/fine"], 4), (["/fine", "/good"], 0),
    ])
    func `several failures share one exit status, or have status 1`(_ paths: [String], status: Int) async throws {
        let routes: [String: Response] = [
            "/cut": .ok(Self.body).truncated(after: 1000), "/fine": .ok(Self.body), "/good": .ok(Self.body),
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(
                    ["get", "--retries", "0"] + paths.map { server.url($0).absoluteString },
                    in: folder
                )
                let result = try await process.result()
                #expect(result.status == status)
            }
        }
    }

    @Test(arguments: [
        ["-d", "file"], ["-d", "file/below"], ["-o", "file/x"], ["-o", "file/below/x"], ["-o", "folder"],
        ["-d", "folder", "-o", "../folder"],
    ])
    func `a destination that cannot be written is reported before any request`(_ options: [String]) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                try Data().write(to: folder.appending(path: "file"))
                let below = folder.appending(path: "folder")
                try FileManager.default.createDirectory(at: below, withIntermediateDirectories: false)
                var process = try ToolProcess(["get", "-q"] + options + [server.url("/x").absoluteString], in: folder)
                let result = try await process.result()
                #expect(result.status == 5)
                #expect(result.errorLines.count == 1)
                #expect(server.connectionCount == 0)
            }
        }
    }

    @Test(arguments: [
        (["get"], "invalidRequest", 2), (["get", "--bogus"], "invalidRequest", 2),
        (["verify", "x"], "invalidRequest", 2),
        (["repair", "x"], "invalidRequest", 2), (["queue", "list", "--state", "x"], "invalidRequest", 2),
        (["queue", "run", "--registry", "/dev/null/x"], "fileSystem", 5),
        (["get", "--checksum-file", "URL", "URL"], "httpStatus", 4),
    ])
    func `a command that fails as a whole also reports it in JSON`(
        _ line: [String],
        code: String,
        status: Int
    ) async throws {
        struct Failure: Decodable {
            let event: String
            let code: String
            let message: String
            let exitStatus: Int
        }
        try await withFaultServer(.status(404)) { server in
            try await withTemporaryDirectory { folder in
                let line = line.map { $0 == "URL" ? server.url("/x").absoluteString : $0 }
                var process = try ToolProcess(line + ["--json"], in: folder)
                let result = try await process.result()
                #expect(result.status == status, "\(result.errors)")
                #expect(result.outputLines.count == 1, "\(result.output)")
                let failure = try JSONDecoder().decode(Failure.self, from: Data(result.output.utf8))
                #expect(failure.event == "error" && failure.code == code && failure.exitStatus == status)
                #expect(result.errors == "headrace: \(failure.message)\n")
            }
        }
    }

    @Test(arguments: [
        [], ["fetch"], ["get"], ["get", "--bogus"], ["get", "ftp://h/x"], ["get", "h/x"], ["get", "http:///x"],
        ["get", "-o", "x", "URL", "URL"], ["get", "-j", "x", "URL"], ["get", "--header", "x", "URL"],
        ["get", "--header", "A: b\nC: d", "URL"], ["get", "--header", "Range: bytes=0-1", "URL"],
        ["get", "--header", "host: h", "URL"], ["get", "--limit-rate", "1X", "URL"], ["get", "-i", "none"],
        ["get", "-i", "/"], ["get", "--cacert", "none", "URL"], ["get", "URL", "ftp://h/x"],
        ["get", "-d", "new", "ftp://h/x"], ["get", "-d", "new", "--header", "Host: h", "URL"],
        ["get", "-d", "new", "-o", String(repeating: "n", count: 256), "URL"],
        ["get", "http://m\u{FC}ller.invalid/x"], ["get", "http://exa mple.invalid/x"],
    ])
    func `a bad command line gives one line and exit status 2, before any request`(_ line: [String]) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let line = line.map { $0 == "URL" ? server.url("/x").absoluteString : $0 }
                var process = try ToolProcess(line, in: folder)
                let result = try await process.result()
                #expect(result.status == 2)
                #expect(result.output.isEmpty)
                #expect(result.errorLines.count == 1)
                #expect(result.errors.hasPrefix("headrace: "))
                #expect(server.connectionCount == 0)
                #expect(FileProbe.size(of: folder.appending(path: "new")) == nil)
            }
        }
    }

    /// Sends the signal when two of three downloads have stalled; returns the result and the remaining files.
    private func interrupt(
        by signal: Int32,
        _ options: String...
    ) async throws -> (result: ToolProcess.Result, parts: [String], files: Int) {
        try await withFaultServer(.file(Resource(size: 300_000)).stalled(after: 100_000)) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/b", "/c"].map { server.url($0).absoluteString }
                let words = ["get", "-j", "2", "-d", "files", "--timeout", "600"] + options + urls
                var process = try ToolProcess(words, in: folder)
                let files = folder.appending(path: "files")
                var parts: [URL] = []
                while parts.count < 2 || parts.contains(where: { FileProbe.size(of: $0) != 100_000 }) {
                    try await Task.sleep(for: .milliseconds(5))
                    parts = ((try? FileProbe.names(in: files)) ?? []).map { files.appending(path: $0) }
                }
                process.send(signal)
                let result = try await process.result()
                #expect(server.requests.count == 2)
                return (result, parts.map(\.lastPathComponent), try FileProbe.names(in: files).count)
            }
        }
    }

    /// Regression: the temporary folder was not deleted.
    @Test(arguments: [["verify", "--checksum-file"], ["get", "--checksum-file"]])
    func `a signal during the download of checksums leaves no folder`(_ words: [String]) async throws {
        let gate = try Gate()
        try await withFaultServer(.ok(.pattern(size: 300)).held(after: 100, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/SUMS").absoluteString
                let place = "TMPDIR=\(folder.path(percentEncoded: false))"
                var process = try ToolProcess(words + [url, url], in: folder, environment: [place])
                try await server.waitForRequests(count: 1)
                process.send(SIGTERM)
                let status = try await process.result().status
                gate.open()
                #expect(status == 143)
                #expect(try FileProbe.names(in: folder).allSatisfy { $0.hasPrefix(".std") })
            }
        }
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129), (SIGQUIT, 131)])
    func `X05 a signal stops the downloads and names the partial files`(_ signal: Int32, status: Int) async throws {
        let (result, parts, files) = try await interrupt(by: signal)
        #expect(result.status == status)
        let last = try #require(result.errorLines.last)
        #expect(last.hasPrefix("headrace: interrupted; the received bytes are saved in "))
        #expect(result.errorLines.filter { $0.hasPrefix("headrace: ") }.count == 1)
        for part in parts { #expect(last.contains(part)) }
        #expect(files == 4)
    }

    @Test
    func `a download that a signal stops has neither failed nor a final event`() async throws {
        let (result, _, _) = try await interrupt(by: SIGTERM, "--json")
        #expect(result.status == 143)
        #expect(result.output.contains(#""event":"responded""#))
        for event in ["finished", "skipped", "unchanged", "failed", "cancelled", "removed"] {
            #expect(!result.output.contains(#""event":"\#(event)""#), "\(result.output)")
        }
    }

    #if os(Linux)
    @Test
    func `SIGQUIT ends a command without a crash report`() async throws {
        try await withTemporaryDirectory { folder in
            let pipe = folder.appending(path: "pipe").path(percentEncoded: false)
            try #require(mkfifo(pipe, 0o600) == 0)
            let words = ["get", "-i", "pipe"]
            var process = try ToolProcess(words, in: folder, environment: ["SWIFT_BACKTRACE=enable=yes"])
            var writer: Int32 = -1
            defer { close(writer) }
            // Opening a pipe for writing waits for a reader.
            while writer < 0 {
                try await Task.sleep(for: .milliseconds(5))
                writer = open(pipe, O_WRONLY | O_NONBLOCK)
            }
            process.send(SIGQUIT)
            let result = try await process.result()
            #expect(result.status == nil)
            #expect(result.errors.isEmpty)
        }
    }

    /// Regression: only the exit status reported it.
    @Test(arguments: [
        "--version", "--help", "queue --help", "completions bash", "queue list --registry l",
        "queue status --registry l",
        "queue list --json --registry l", "queue stop --registry l", "man", "get --json ftp://h/a",
        "queue add --registry l --paused -q http://127.0.0.1:1/b",
    ])
    func `a full disk for standard output is reported by every command`(_ line: String) async throws {
        try await withTemporaryDirectory { folder in
            let url = "http://127.0.0.1:1/a"
            _ = try await ToolProcess.run("queue", "add", "--registry", "l", "--paused", url, in: folder)
            let words = line.split(separator: " ").map(String.init)
            var process = try ToolProcess(words, in: folder, output: "/dev/full")
            let result = try await process.result()
            let fails = words[0] == "get"
            #expect(result.status == (fails ? 2 : 5))
            #expect(result.errorLines.first == "headrace: cannot write to standard output: no space left on device")
            #expect(result.errorLines.count == (fails ? 2 : 1), "\(result.errors)")
        }
    }

    @Test(arguments: [false, true])
    func `a closed output pipe ends the tool silently`(_ ignoresSignal: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let closed = #"mkfifo "$0/p"; (: < "$0/p") & exec > "$0/p"; wait"#
            let preparation = ignoresSignal ? "\(closed); trap '' PIPE" : closed
            var process = try ToolProcess(["--help"], in: folder, after: preparation)
            let result = try await process.result()
            #expect(result.status == (ignoresSignal ? 141 : nil))
            #expect(result.errors.isEmpty)
        }
    }

    @Test
    func `unwritable output is reported, and the file is still downloaded`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/x").absoluteString
                var process = try ToolProcess(["get", "--json", url], in: folder, output: "/dev/full")
                let result = try await process.result()
                #expect(result.status == 5)
                #expect(result.errors == "headrace: cannot write to standard output: no space left on device\n")
                #expect(Self.body.difference(fromFileAt: folder.appending(path: "x")) == nil)
            }
        }
    }
    #endif
}
