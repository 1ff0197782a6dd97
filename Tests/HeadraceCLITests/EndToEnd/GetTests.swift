import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs `headrace get` of the built tool with a correct server.
@Suite(.timeLimit(.minutes(4)))
struct GetTests {
    private let body = Response.Body.pattern(size: 300_000)

    /// The names of the files in the folder.
    private func names(in folder: URL) throws -> [String] {
        try FileProbe.names(in: folder).filter { ![".stdin", ".stdout", ".stderr"].contains($0) }
    }

    @Test
    func `a file gets its name and content, and the run prints two lines`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let result = try await ToolProcess.run(
                    "get",
                    "-o",
                    "x.bin",
                    server.url("/a").absoluteString,
                    in: folder
                )
                #expect(result.status == 0)
                #expect(result.output.isEmpty)
                #expect(result.errorLines.count == 2)
                #expect(result.errorLines.first == "x.bin: started (\(server.url("/a").absoluteString))")
                #expect(result.errorLines.last?.hasPrefix("x.bin: finished, 292 KiB in ") == true)
                #expect(try names(in: folder) == ["x.bin"])
                #expect(body.difference(fromFileAt: folder.appending(path: "x.bin")) == nil)
            }
        }
    }

    @Test
    func `a directory is created with its parents, and names come from the URLs`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/one.bin", "/two%20words.bin"].map { server.url($0).absoluteString }
                let result = try await ToolProcess.run("get", "-qd", "new/deep/", urls[0], urls[1], in: folder)
                #expect(result.status == 0)
                #expect(result.errors.isEmpty)
                #expect(try names(in: folder.appending(path: "new/deep")) == ["one.bin", "two words.bin"])
            }
        }
    }

    /// Regression: messages were written to the file that got the descriptor of standard error.
    @Test(arguments: ["exec <&- >&- 2>&-", "ulimit -Sn 16"])
    func `closed standard streams and a low descriptor limit do no harm`(_ preparation: String) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let arguments = ["get", "-v", "-o", "x", server.url("/x").absoluteString]
                var process = try ToolProcess(arguments, in: folder, after: preparation)
                #expect(try await process.result().status == 0)
                #expect(body.difference(fromFileAt: folder.appending(path: "x")) == nil)
            }
        }
    }

    @Test(arguments: [["-o", "new/deep/x"], ["-d", "new", "-o", "deep/x"]])
    func `missing folders of an output path are created`(_ options: [String]) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(["get", "-q"] + options + [server.url("/a").absoluteString], in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(body.difference(fromFileAt: folder.appending(path: "new/deep/x")) == nil)
            }
        }
    }

    @Test
    func `the server suggests the name unless one is given`() async throws {
        let field = "attachment; filename*=UTF-8''..%2Ft%C3%B6ld.bin"
        try await withFaultServer(.ok(body).header("Content-Disposition", field)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let (proposed, given) = (
                    try await ToolProcess.run("get", url, in: folder),
                    try await ToolProcess.run("get", "-o", "mine", url, in: folder)
                )
                #expect(proposed.status == 0 && given.status == 0)
                #expect(try names(in: folder) == ["mine", "töld.bin"])
            }
        }
    }

    @Test(arguments: [["-i", "list"], ["-i", "-"], ["--input-file=list", "-j", "2"]])
    func `the URLs of an input file are downloaded`(_ options: [String]) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let list = (0..<40).map { "\(server.url("/\($0)").absoluteString)\n" }.joined() + "\n# the end\n"
                try Data(list.utf8).write(to: folder.appending(path: "list"))
                var process = try ToolProcess(["get", "-d", "files"] + options, in: folder, input: list)
                let result = try await process.result()
                #expect(result.status == 0)
                #expect(result.errorLines.last?.hasPrefix("40 of 40 finished: 11.4 MiB in ") == true)
                #expect(try names(in: folder.appending(path: "files")).count == 40)
                #expect(server.requests.count == 40)
            }
        }
    }

    @Test
    func `JSON output has one object per line, and each download ends once`() async throws {
        try await withFaultServer(
            .routes([
                "/a": .ok(body), "/b": .redirect(to: "/a"),
                "/slow": .ok(body).dripping(bytes: 8000, every: .milliseconds(40)),
            ])
        ) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/b", "/slow", "/none"].map { server.url($0).absoluteString }
                var process = try ToolProcess(["get", "--json"] + urls, in: folder)
                let result = try await process.result()
                #expect(result.status == 4)
                #expect(result.outputLines.first == #"{"event":"stream","version":1}"#)
                let objects = try result.outputLines.dropFirst().map {
                    try JSONDecoder().decode(Line.self, from: Data($0.utf8))
                }
                let endings = ["finished", "skipped", "failed", "cancelled"]
                for url in urls {
                    let events = objects.filter { $0.url == url }.map(\.event)
                    #expect(events.first == "started")
                    #expect(events.filter { endings.contains($0) }.count == 1)
                    #expect(endings.contains(events.last ?? ""))
                }
                #expect(objects.filter { $0.url == urls[1] }.map(\.event).contains("redirected"))
                #expect((1...3).contains(objects.filter { $0.event == "progress" }.count))
                #expect(Set(objects.map(\.id)).count == 4)
                #expect(
                    result.errorLines == [
                        "headrace: none: The server responded with status 404, Not Found (\(urls[3]))"
                    ]
                )
            }
        }
    }

    @Test
    func `a dry run prints names and sizes, and leaves no files`() async throws {
        let named = Response.ok(body).header("Content-Disposition", "attachment; filename=b.bin")
        try await withFaultServer(.routes(["/a": .redirect(to: "/b"), "/b": named])) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/none"].map { server.url($0).absoluteString }
                var process = try ToolProcess(["get", "--dry-run", "-d", "files"] + urls, in: folder)
                let result = try await process.result()
                #expect(result.status == 4)
                #expect(result.outputLines.count == 1)
                #expect(result.output.hasSuffix("/files/b.bin: 292 KiB (\(urls[0]))\n"), "\(result.output)")
                #expect(
                    result.errorLines == [
                        "headrace: none: The server responded with status 404, Not Found (\(urls[1]))"
                    ]
                )
                #expect(try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") } == [])
                let json = try await ToolProcess.run("get", "--dry-run", "--json", urls[0], in: folder)
                #expect(json.outputLines.count == 2)
                #expect(json.outputLines.last?.contains(#""event":"responded""#) == true)
            }
        }
    }

    @Test
    func `a dry run ends at the time limit`() async throws {
        try await withFaultServer(.raw("x").stalled(after: 0)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a.bin").absoluteString
                let result = try await ToolProcess.run("get", "--dry-run", "--time-limit", "0.1", url, in: folder)
                #expect(result.status == 1)
                #expect(
                    result.errorLines == [
                        "headrace: a.bin: No response with the file arrived within 0.1 s. Allow more time (\(url))"
                    ]
                )
            }
        }
    }

    @Test(
        arguments: [
            ([], "a.bin", "exists; unless it is up to date, the server's version will be saved as a (2).bin"),
            (["--if-exists", "rename"], "a (2).bin", "a.bin exists, and will be kept"),
            (["--if-exists", "skip"], "a.bin", "exists, and will be skipped"),
            (["--if-exists", "fail"], "a.bin", "exists, so the download will fail"),
            (["--if-exists", "overwrite"], "a.bin", "exists, and will be replaced"),
            (["--if-changed"], "a.bin", "exists, and will be replaced if the server has another version"),
        ] as [([String], String, String)]
    )
    func `a dry run prints what would happen to an existing file`(
        _ options: [String],
        name: String,
        outcome: String
    ) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                for name in ["a.bin", "a (1).bin"] { try Data("old".utf8).write(to: folder.appending(path: name)) }
                let url = server.url("/a.bin").absoluteString
                var process = try ToolProcess(["get", "--dry-run"] + options + [url], in: folder)
                let result = try await process.result()
                #expect(result.status == 0)
                #expect(result.output.hasSuffix("/\(name): 292 KiB; \(outcome) (\(url))\n"), "\(result.output)")
                #expect(try names(in: folder) == ["a (1).bin", "a.bin"])
            }
        }
    }

    #if os(Linux)
    @Test
    func `on a terminal the downloads share a redrawn area`() async throws {
        let slow = Response.ok(body).dripping(bytes: 10_000, every: .milliseconds(20))
        try await withFaultServer(.routes(["/a": slow, "/b": slow])) { server in
            try await withTemporaryDirectory { folder in
                let terminal = try PseudoTerminal(columns: 60, rows: 10)
                let urls = ["/a", "/b", "/none"].map { server.url($0).absoluteString }
                var process = try ToolProcess(["get"] + urls, in: folder, terminal: terminal)
                let result = try await process.result()
                let frames = result.errors.split(separator: "\u{1B}[?2026h")
                #expect(result.status == 4)
                #expect((3...15).contains(frames.count))
                // Three lines up: two downloads and the total.
                #expect(frames.contains { $0.hasPrefix("\r\u{1B}[3A") })
                #expect(frames.last?.contains("2 of 3 finished, 1 failed: 585 KiB in ") == true)
                #expect(frames.filter { $0.contains("none: The server responded with status 404") }.count == 1)
            }
        }
    }
    #endif

    @Test(arguments: [
        ("rename", 0, ["x", "x (1)"]), ("overwrite", 0, ["x"]), ("skip", 0, ["x"]), ("fail", 5, ["x"]),
    ])
    func `an existing file is treated as --if-exists says`(_ policy: String, status: Int, left: [String]) async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                try Data("old".utf8).write(to: folder.appending(path: "x"))
                let url = server.url("/x").absoluteString
                let result = try await ToolProcess.run("get", "--if-exists", policy, "-o", "x", url, in: folder)
                #expect(result.status == status)
                #expect(try names(in: folder) == left)
                let isKept = FileProbe.size(of: folder.appending(path: "x")) == 3
                #expect(isKept == (policy != "overwrite"))
                #expect(server.requests.count == (["skip", "fail"].contains(policy) ? 0 : 1))
            }
        }
    }

    @Test
    func `headers and passwords are sent, and passwords are never printed`() async throws {
        try await withFaultServer(.routes(["/a": .redirect(to: "/b"), "/b": .status(403)])) { server in
            try await withTemporaryDirectory { folder in
                let url = "http://user:secret@127.0.0.1:\(server.port)/a"
                for options in [["-v"], ["--json"]] {
                    var process = try ToolProcess(["get", "--header", "X-A: b"] + options + [url], in: folder)
                    let result = try await process.result()
                    #expect(result.status == 4)
                    #expect(!(result.output + result.errors).contains("secret"))
                }
                #expect(server.requests.allSatisfy { $0.values(of: "X-A") == ["b"] })
            }
        }
    }

    @Test(arguments: [true, false]) func `JSON lines measure each request with --verbose`(
        _ isVerbose: Bool
    ) async throws {
        try await withFaultServer(.routes(["/a": .redirect(to: "/b"), "/b": .ok("text")])) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                var process = try ToolProcess(["get", "--json"] + (isVerbose ? ["-v"] : []) + [url], in: folder)
                let result = try await process.result()
                #expect(result.status == 0)
                let lines = result.output.split(separator: "\n").filter { $0.contains("\"requestEnded\"") }
                #expect(lines.count == (isVerbose ? 2 : 0), "\(result.output)")
            }
        }
    }

    @Test(arguments: [["--help"], ["--version"], ["get", "-h"], ["help"], ["version"], ["help", "get"]])
    func `help and version go to standard output`(_ line: [String]) async throws {
        try await withTemporaryDirectory { folder in
            var process = try ToolProcess(line, in: folder)
            let result = try await process.result()
            #expect(result.status == 0)
            #expect(result.output.hasPrefix(line[0].hasSuffix("version") ? "headrace " : "Usage: headrace get"))
            #expect(result.errors.isEmpty)
        }
    }

    private struct Line: Decodable {
        let event: String
        let id: String
        let url: String
    }
}
