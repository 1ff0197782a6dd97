import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Commands at the end of downloads, waiting for downloads, and lists with options, with the built tool.
@Suite(.timeLimit(.minutes(4)))
struct HookRunTests {
    private static let file = Resource(size: 300_000, seed: 1, etag: "\"v1\"")

    /// Writes a program that appends a line about its call to `log`.
    private func writeHook(in folder: URL) throws -> String {
        let hook = folder.appending(path: "hook")
        let log = folder.appending(path: "log").path(percentEncoded: false)
        let text = "#!/bin/sh\necho out\necho \"$1 $HEADRACE_STATUS $HEADRACE_URL $HEADRACE_FILE\" >> '\(log)'\n"
        try Data(text.utf8).write(to: hook)
        let path = hook.path(percentEncoded: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    private func log(in folder: URL) throws -> Set<String> {
        let text = try String(contentsOf: folder.appending(path: "log"), encoding: .utf8)
        return Set(text.split(separator: "\n").map(String.init))
    }

    @Test(arguments: [["--json"], ["-q"], []])
    func `commands run after downloads that finished or failed`(_ options: [String]) async throws {
        try await withFaultServer(.routes(["/a": .file(Self.file), "/b": .file(Self.file)])) { server in
            try await withTemporaryDirectory { folder in
                let hook = try writeHook(in: folder)
                let urls = ["/a", "/b", "/none"].map { server.url($0).absoluteString }
                let hooks = ["--on-finish", "/bin/sh \(hook) done", "--on-fail", "/bin/sh \(hook) failed"]
                var process = try ToolProcess(["get"] + options + hooks + urls, in: folder)
                let result = try await process.result()
                #expect(result.status == 4, "\(result.errors)")
                let here = folder.path(percentEncoded: false)
                let place = here.hasSuffix("/") ? here : here + "/"
                #expect(
                    try log(in: folder) == [
                        "done 0 \(urls[0]) \(place)a", "done 0 \(urls[1]) \(place)b", "failed 4 \(urls[2]) ",
                    ]
                )
                // The output of a command must not be mixed with that of the tool.
                #expect(!result.outputLines.contains("out") && result.errorLines.count { $0 == "out" } == 3)
            }
        }
    }

    private static let expired = Response.sequence([.file(file).truncated(after: 100_000)], then: .status(403))

    @Test func `a new link comes from the command when the present one has expired`() async throws {
        try await withFaultServer(.routes(["/old": Self.expired, "/new": .file(Self.file)])) { server in
            try await withTemporaryDirectory { folder in
                let link = server.url("/new").absoluteString
                let text = "#!/bin/sh\necho \"$HEADRACE_URL $1\" > log\necho '\(link)'\necho more\n"
                try Data(text.utf8).write(to: folder.appending(path: "link"))
                let url = server.url("/old").absoluteString
                let words = ["get", "-o", "x", "-x", "1", "--link-command", "/bin/sh link 7", url]
                var process = try ToolProcess(words, in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(Self.file.body.difference(fromFileAt: folder.appending(path: "x")) == nil)
                #expect(try log(in: folder) == ["\(url) 7"])
                #expect(server.requests.last?["Range"] == "bytes=100000-")
                #expect(result.output.isEmpty)
            }
        }
    }

    @Test func `a queue that is run with --link-command gets new links`() async throws {
        try await withFaultServer(.routes(["/old": .status(403), "/new": .file(Self.file)])) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/old"))
                var process = try folder.run("--link-command", "/bin/echo \(server.url("/new").absoluteString)")
                #expect(try await process.result().status == 0)
                #expect(try await folder.states() == ["finished"])
            }
        }
    }

    @Test func `queue relink gives a failed download a new URL, and its bytes are kept`() async throws {
        try await withFaultServer(.routes(["/old": Self.expired, "/new": .file(Self.file)])) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/old"))
                var first = try folder.run()
                let failed = try await first.result()
                #expect(failed.status == 4, "\(failed.errors)")
                let result = try await folder.queue("relink", "%1", server.url("/new").absoluteString)
                #expect(result.status == 0, "\(result.errors)")
                #expect(try await folder.states() == ["waiting"])
                var second = try folder.run()
                #expect(try await second.result().status == 0)
                #expect(Self.file.body.difference(fromFileAt: folder.files.appending(path: "old")) == nil)
                #expect(server.requests.last?.path == "/new" && server.requests.last?["Range"] == "bytes=100000-")
                #expect(try await folder.queue("relink", "%1", "http://u:pw@h/").status == 2)
                #expect(try await folder.queue("relink", "%1").status == 2)
            }
        }
    }

    @Test(arguments: [
        ("/bin/false", "/bin/false: exit status 1"), ("/none/link", "/none/link: no such file or directory"),
        ("/bin/echo no link", "/bin/echo: the first line of its output is not a URL"),
    ])
    func `a link command that fails is named in the error`(_ command: String, problem: String) async throws {
        try await withFaultServer(.status(403)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/old").absoluteString
                let result = try await ToolProcess.run("get", "-q", "--link-command", command, url, in: folder)
                #expect(result.status == 4)
                #expect(result.errors.contains("No new link could be obtained: --link-command: \(problem)"))
            }
        }
    }

    @Test(arguments: [
        ("/bin/false", "/bin/false: exit status 1"), ("/none/hook", "/none/hook: no such file or directory"),
    ])
    func `a command that fails is reported and changes the exit status`(_ command: String, problem: String) async throws
    {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let result = try await ToolProcess.run("get", "-q", "--on-finish", command, url, in: folder)
                #expect(result.status == 1)
                #expect(result.errors == "headrace: --on-finish: \(problem)\n")
            }
        }
    }

    @Test func `a queue runs the commands once for each download`() async throws {
        try await withFaultServer(.routes(["/a": .file(Self.file), "/b": .file(Self.file)])) { server in
            try await withQueueFolder { folder in
                let hook = try writeHook(in: folder.url)
                let hooks = ["--on-finish", "/bin/sh \(hook) done", "--on-fail", "/bin/sh \(hook) failed"]
                for (index, name) in ["/a", "/b", "/none"].enumerated() {
                    _ = try await folder.add(server.url(name))
                    var process = try folder.run(hooks[0], hooks[1], hooks[2], hooks[3])
                    let result = try await process.result()
                    #expect(result.status == (name == "/none" ? 4 : 0), "\(result.errors)")
                    let text = try String(contentsOf: folder.url.appending(path: "log"), encoding: .utf8)
                    let lines = text.split(separator: "\n")
                    #expect(lines.count == index + 1)
                    let call = name == "/none" ? "failed 4" : "done 0"
                    #expect(lines.last?.hasPrefix("\(call) \(server.url(name).absoluteString) ") == true, "\(text)")
                }
            }
        }
    }

    @Test func `queue wait returns when the downloads have ended, with the status of their failures`() async throws {
        let gate = try Gate()
        let routes = ["/a": Response.file(Self.file).held(after: 100_000, until: gate), "/b": .status(404)]
        try await withFaultServer(.routes(routes)) { server in
            try await withQueueFolder { folder in
                let ids = try await folder.add(server.url("/a"), server.url("/b"))
                let here = folder.url.appending(path: "wait")
                try FileManager.default.createDirectory(at: here, withIntermediateDirectories: false)
                var wait = try ToolProcess(
                    ["queue", "wait", "--registry", folder.registryPath] + ids.prefix(1),
                    in: here
                )
                var run = try folder.run("-q")
                try await folder.waitUntil { $0.map(\.state) == ["running", "failed"] }
                let failed = try await folder.queue("wait", ids[1])
                #expect(failed.status == 4)
                #expect(failed.errors.contains("headrace: b (%2): The server responded with status 404, Not Found"))
                gate.open()
                #expect(try await wait.result().status == 0)
                #expect(try await run.result().status == 4)
                #expect(try await folder.queue("wait", "all").status == 4)
                #expect(try await folder.queue("wait", "ffff0000ffff0000").status == 2)
                _ = try await folder.add(server.url("/c"))
                _ = try await folder.queue("cancel", "%3")
                #expect(try await folder.queue("wait", "%3").status == 1)
            }
        }
    }

    @Test func `lists may have JSON and the options of aria2`() async throws {
        let response = Response.answering { request in
            request.path == "/gone" ? .status(404) : request["X"] == "1" ? .file(Self.file) : .ok("hello")
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let base = server.url("/").absoluteString
                let sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
                let input = """
                    {"url": "\(base)gone", "output": "d/j", "checksum": "\(sum)", "mirrors": ["\(base)m"]}
                    {"url": "\(base)k", "headers": {"X": "1"}}
                    \(base)l
                      out=e/l
                      checksum=sha-256=\(sum)
                    \(base)plain

                    """
                let result = try await ToolProcess.run("get", "-d", "f", "-", in: folder, input: input)
                #expect(result.status == 0, "\(result.errors)")
                let files = folder.appending(path: "f")
                for name in ["d/j", "e/l", "plain"] {
                    #expect(try FileProbe.bytes(of: files.appending(path: name)) == Array("hello".utf8), "\(name)")
                }
                #expect(Self.file.body.difference(fromFileAt: files.appending(path: "k")) == nil)
                let wrong = try await ToolProcess.run("get", "-", in: folder, input: "u\n split=5\n")
                #expect(wrong.status == 2)
                #expect(wrong.errors.contains("--input-file: standard input: Line 2: split is not one of "))
                let bad = try await ToolProcess.run(
                    "get",
                    "-",
                    in: folder,
                    input: "{\"url\":\"http://h/\",\"output\":\"x/\"}\n"
                )
                #expect(
                    bad.errors.contains("standard input: line 1: \"x/\" is not the name of a file"),
                    "\(bad.errors)"
                )
                let secret = #"{"url": "http://h/", "headers": {"X-Api-Key": "hidden"}}"#
                let queued = try await ToolProcess.run(
                    "queue",
                    "add",
                    "--registry",
                    "q",
                    "-",
                    in: folder,
                    input: secret
                )
                #expect(
                    queued.status == 2 && queued.errors.contains("http://h/: X-Api-Key is a secret"),
                    "\(queued.errors)"
                )
                #expect(!queued.errors.contains("hidden"))
            }
        }
    }

    @Test func `with -q nothing is printed`() async throws {
        try await withFaultServer(.file(Self.file)) { server in
            try await withTemporaryDirectory { folder in
                let result = try await ToolProcess.run("get", "-q", server.url("/a").absoluteString, in: folder)
                #expect(result.status == 0 && result.output.isEmpty && result.errors.isEmpty, "\(result.errors)")
            }
        }
    }

    @Test func `without a terminal, a line with the progress is printed from time to time`() async throws {
        let gate = try Gate()
        try await withFaultServer(.file(Self.file).held(after: 100_000, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                var process = try ToolProcess(["get", "-x1", url], in: folder)
                let errors = folder.appending(path: ".stderr")
                while try !String(contentsOf: errors, encoding: .utf8).contains(" KiB/292 KiB, ") {
                    try await Task.sleep(for: .milliseconds(50))
                }
                gate.open()
                let result = try await process.result()
                #expect(result.status == 0 && result.errorLines.count == 3, "\(result.errors)")
            }
        }
    }
}
