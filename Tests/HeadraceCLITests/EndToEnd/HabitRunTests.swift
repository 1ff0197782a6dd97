import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool as users of curl, wget and aria2 call it.
@Suite(.timeLimit(.minutes(4)))
struct HabitRunTests {
    @Test func `patterns and standard input name the files, and a URL without a scheme is tried as https`() async throws
    {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let base = server.url("/").absoluteString
                let bare = String(base.dropFirst("http://".count))
                let input = "\(base)listed\n"
                let result = try await ToolProcess.run(
                    "get",
                    "-fsSL",
                    "-C",
                    "-",
                    "\(base){a,b}[1-2]",
                    "-",
                    in: folder,
                    input: input
                )
                #expect(result.status == 0, "\(result.errors)")
                #expect(Set(server.requests.map(\.path)) == ["/a1", "/a2", "/b1", "/b2", "/listed"])
                let refused = try await ToolProcess.run("get", "--retries", "0", "\(bare)x", in: folder)
                #expect(refused.status == 3 && refused.errors.contains("(https://\(bare)x)"), "\(refused.errors)")
                let allowed = try await ToolProcess.run(
                    "get",
                    "--retries",
                    "0",
                    "--allow-downgrade",
                    "\(bare)x",
                    in: folder
                )
                #expect(allowed.status == 0, "\(allowed.errors)")
                let twice = try await ToolProcess.run("get", "-i", "-", "-", in: folder)
                #expect(twice.errors == "headrace: -: a list is already read from --input-file -\n")
            }
        }
    }

    @Test func `a body is sent once, or as often as --retries allows`() async throws {
        let routes: [String: Response] = [
            "/once": .sequence([.status(503)], then: .ok("found")), "/file": .ok("found"),
            "/again": .sequence([.status(503)], then: .ok("found")),
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                func run(_ path: String, _ options: [String]) async throws -> ToolProcess.Result {
                    var process = try ToolProcess(["get"] + options + [server.url(path).absoluteString], in: folder)
                    return try await process.result()
                }
                let once = try await run("/once", ["--data", "q=1"])
                #expect(once.status == 4, "\(once.errors)")
                let again = try await run(
                    "/again",
                    ["--data", "{}", "-X", "PUT", "--retries", "1", "-H", "Content-Type: application/json"]
                )
                #expect(again.status == 0, "\(again.errors)")
                try "bytes".write(to: folder.appending(path: "body"), atomically: false, encoding: .utf8)
                let file = try await run("/file", ["--data-file", folder.appending(path: "body").path])
                #expect(file.status == 0, "\(file.errors)")
                let sent = server.requests.map { "\($0.method) \($0.path) \(String(decoding: $0.body, as: UTF8.self))" }
                #expect(sent == ["POST /once q=1", "PUT /again {}", "PUT /again {}", "POST /file bytes"])
                let form = "application/x-www-form-urlencoded"
                #expect(
                    server.requests.map { $0["Content-Type"] } == [form, "application/json", "application/json", form]
                )
                let wrong = try await run("/file", ["--data", "@body"])
                #expect(wrong.errors == "headrace: --data: to send the bytes of a file, write --data-file body\n")
            }
        }
    }

    @Test func `patterns in an input file are literal`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let input = server.url("/").absoluteString + "{a,b}\n"
                let result = try await ToolProcess.run("get", "-i", "-", in: folder, input: input)
                #expect(result.status == 0 && server.requests.count == 1, "\(result.errors)")
            }
        }
    }

    @Test func `--user logs in to the server of the URL alone, and warns of a visible password`() async throws {
        try await withFaultServer(.ok("hello")) { other in
            let response = Response.answering { request in
                request["Authorization"] == "Basic dTpoaWRkZW4="
                    ? .redirect(to: other.url("/x").absoluteString) : .status(401)
            }
            try await withFaultServer(response) { server in
                try await withTemporaryDirectory { folder in
                    let url = server.url("/a").absoluteString
                    let result = try await ToolProcess.run("get", "-u", "u:hidden", url, in: folder)
                    #expect(result.status == 0, "\(result.errors)")
                    #expect(
                        result.errors.hasPrefix("headrace: --user: other users can see the password;")
                    )
                    #expect(!result.errors.contains("hidden"))
                    #expect(other.requests.map { $0["Authorization"] } == [nil])
                    let quiet = try await ToolProcess.run("get", "-qu", "u:hidden", url, in: folder)
                    #expect(quiet.errors == "")
                    let blind = try await ToolProcess.run("get", "-u", "u", url, in: folder)
                    #expect(blind.status == 2)
                    #expect(blind.errors.contains("--user: there is no terminal to ask for the password"))
                    let queued = try await ToolProcess.run("queue", "add", "--user", "u:hidden", url, in: folder)
                    #expect(queued.status == 2 && !queued.errors.contains("hidden"))
                }
            }
        }
    }

    #if os(Linux)
    @Test(
        arguments: [
            ("hiddenx\u{7F}\r", nil, 0), ("\u{1A}hi\u{1}dden\r", nil, 0), ("hidden\u{3}", nil, 130),
            ("\u{4}", nil, 130), ("hidden", SIGTERM, 143),
        ] as [(typed: String, signal: Int32?, status: Int)],
        [[], ["-o", "-"]]
    )
    func `a missing password is asked for without showing it`(
        _ end: (typed: String, signal: Int32?, status: Int),
        _ options: [String]
    ) async throws {
        let response = Response.answering { request in
            request["Authorization"] == "Basic dTpoaWRkZW4=" ? .ok("hello") : .status(401)
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let terminal = try PseudoTerminal(columns: 80, rows: 24)
                let arguments = ["get", "--user", "u", server.url("/a").absoluteString] + options
                var process = try ToolProcess(arguments, in: folder, terminal: terminal)
                var shown = ""
                while !shown.contains("Password for u: ") {
                    try await Task.sleep(for: .milliseconds(5))
                    shown += String(decoding: terminal.read(), as: UTF8.self)
                }
                #expect(!terminal.echoes)
                terminal.type(end.typed)
                if let signal = end.signal { process.send(signal) }
                let result = try await process.result()
                #expect(result.status == end.status, "\(result.errors)")
                #expect(terminal.echoes)
                #expect(!(shown + result.errors).contains("hidden"))
                #expect(server.requests.count == (end.status == 0 ? 1 : 0))
            }
        }
    }
    #endif
}
