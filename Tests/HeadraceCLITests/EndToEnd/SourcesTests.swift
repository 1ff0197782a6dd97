import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with rate limits and several sources.
@Suite(.timeLimit(.minutes(4)))
struct SourcesTests {
    private let body = Response.Body.pattern(size: 300_000)

    @Test
    func `a rate limit slows a download, which is complete`() async throws {
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/b"].map { server.url($0).absoluteString }
                let start = ContinuousClock.now
                let result = try await ToolProcess.run(
                    "get",
                    "-q",
                    "--limit-rate",
                    "400000",
                    urls[0],
                    urls[1],
                    in: folder
                )
                #expect(result.status == 0)
                // Two files of 300,000 bytes, minus the allowed burst.
                #expect(start.duration(to: .now) > .milliseconds(1300))
                for name in ["a", "b"] { #expect(body.difference(fromFileAt: folder.appending(path: name)) == nil) }
            }
        }
    }

    @Test
    func `a mirror replaces a failed source, and all reasons are reported if every source fails`()
        async throws
    {
        try await withFaultServer(.routes(["/m": .ok(body)])) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/m", "/n"].map { server.url($0).absoluteString }
                let result = try await ToolProcess.run("get", "-o", "x", "--mirror", urls[1], urls[0], in: folder)
                #expect(result.status == 0)
                let change = "x: continuing from \(urls[1]): The server responded with status 404, Not Found"
                #expect(result.errorLines.contains(change), "\(result.errors)")
                #expect(body.difference(fromFileAt: folder.appending(path: "x")) == nil)
                let failed = try await ToolProcess.run("get", "-q", "--mirror", urls[2], urls[0], in: folder)
                #expect(failed.status == 4)
                #expect(failed.errorLines.count == 1)
                #expect(failed.errors.contains("/a: ") && failed.errors.contains("/n: "), "\(failed.errors)")
            }
        }
    }

    @Test func `a mirror that fails beside the first source is reported in one line`() async throws {
        let file = Resource(size: 6 << 20, seed: 3, etag: "\"v1\"")
        let whole = Response.file(file).limited(bytesPerSecond: 2 << 20)
        try await withFaultServer(.routes(["/a": whole, "/b": .status(404)])) { server in
            try await withTemporaryDirectory { folder in
                let (url, mirror) = (server.url("/a").absoluteString, server.url("/b").absoluteString)
                let result = try await ToolProcess.run(
                    "get",
                    "-x",
                    "4",
                    "-o",
                    "x",
                    "--mirror",
                    mirror,
                    url,
                    in: folder
                )
                #expect(result.status == 0, "\(result.errors)")
                let line =
                    "x: continuing from \(url): \(mirror) is no longer used. The server responded with status 404, Not Found"
                #expect(result.errorLines.filter { $0.contains(mirror) } == [line], "\(result.errors)")
                #expect(file.body.difference(fromFileAt: folder.appending(path: "x")) == nil)
            }
        }
    }

    @Test
    func `a file of a document that cannot be downloaded does not stop the others`() async throws {
        try await withFaultServer(.routes(["/m": .ok(body)])) { server in
            try await withTemporaryDirectory { folder in
                let url = "<url>\(server.url("/m").absoluteString)</url>"
                let files = """
                    <file name='a.bin'>\(url)</file><file name='none'/><file name='../out'>\(url)</file>
                    <file name='bad'><hash type='md5'>00</hash>\(url)</file><file name='b.bin'>\(url)</file>
                    """
                let text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(files)</metalink>"
                try Data(text.utf8).write(to: folder.appending(path: "list.meta4"))
                let result = try await ToolProcess.run("get", "-q", "-d", "d", "--metalink", "list.meta4", in: folder)
                #expect(result.status == 2)
                for name in ["a.bin", "b.bin"] {
                    #expect(body.difference(fromFileAt: folder.appending(path: "d/\(name)")) == nil)
                }
                #expect(
                    result.errorLines == [
                        "headrace: --metalink: none: it has no http or https source",
                        "headrace: --metalink: unnamed (3): its name \"../out\" is empty or points outside its directory",
                        "headrace: --metalink: bad: one of its checksums is malformed",
                    ]
                )
                #expect(try FileProbe.names(in: folder.appending(path: "d")) == ["a.bin", "b.bin"])
            }
        }
    }

    @Test
    func `--follow-metalink downloads the files of a downloaded document`() async throws {
        let response = Response.answering { [body] request in
            switch request.path {
            case "/m": return .ok(body)
            case "/plain": return .ok("x")
            default:
                let url = "<url>http://\(request["Host"] ?? "")/m</url>"
                let file = "<file name='a.bin'>\(url)</file>"
                let text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(file)</metalink>"
                return .ok(.bytes(Array(text.utf8)))
            }
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/files", "/plain"].map { server.url($0).absoluteString }
                let plain = try await ToolProcess.run("get", "-q", "-d", "d", urls[0], in: folder)
                #expect(plain.status == 0)
                let place = folder.appending(path: "d")
                #expect(try FileProbe.names(in: place) == ["files"])
                let result = try await ToolProcess.run(
                    "get",
                    "--json",
                    "-d",
                    "d",
                    "--if-exists",
                    "overwrite",
                    "--follow-metalink",
                    urls[0],
                    urls[1],
                    in: folder
                )
                #expect(result.status == 0, "\(result.errors)")
                #expect(result.output.components(separatedBy: "\n").count { $0.contains("\"stream\"") } == 1)
                #expect(try FileProbe.names(in: place) == ["a.bin", "files", "plain"])
                #expect(body.difference(fromFileAt: place.appending(path: "a.bin")) == nil)
            }
        }
    }

    @Test
    func `the files of a document are downloaded from the first source that has them`() async throws {
        try await withFaultServer(.routes(["/m": .ok(body)])) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/gone", "/m"].map { "<url>\(server.url($0).absoluteString)</url>" }.joined()
                let file = "<file name='x/a.bin'>\(urls)</file>"
                let text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(file)</metalink>"
                try Data(text.utf8).write(to: folder.appending(path: "list.meta4"))
                let result = try await ToolProcess.run("get", "-q", "-d", "d", "--metalink", "list.meta4", in: folder)
                #expect(result.status == 0, "\(result.errors)")
                #expect(body.difference(fromFileAt: folder.appending(path: "d/a.bin")) == nil)
                try Data("<metalink/>".utf8).write(to: folder.appending(path: "bad"))
                let failed = try await ToolProcess.run("get", "--metalink", "bad", in: folder)
                #expect(failed.status == 2)
                #expect(failed.errors.hasPrefix("headrace: --metalink: bad: The Metalink document cannot be used: "))
                let remote = try await ToolProcess.run("get", "--metalink", "http://u:secret@h/x", in: folder)
                #expect(remote.status == 2)
                #expect(remote.errors.contains("download it first with headrace get http://***@h/x"))
            }
        }
    }
}
