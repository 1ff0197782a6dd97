import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the same command of the built tool again, with or without an interruption.
@Suite(.timeLimit(.minutes(4)))
struct RepeatTests {
    private let resource = Resource(size: 300_000)

    /// Runs `get` until the file at `/slow` has 100,000 bytes, and stops it.
    private func interrupt(
        _ options: [String],
        _ urls: [URL],
        in folder: URL,
        _ server: FaultServer
    ) async throws -> ToolProcess.Result {
        let line = ["get", "-j", "1", "-d", "files", "--timeout", "600"] + options + urls.map(\.absoluteString)
        var process = try ToolProcess(line, in: folder)
        let files = folder.appending(path: "files")
        while try !FileProbe.names(in: folder).contains("files")
            || !FileProbe.names(in: files).contains(where: {
                $0.hasPrefix("slow.") && FileProbe.size(of: files.appending(path: $0)) == 100_000
            })
        {
            try await Task.sleep(for: .milliseconds(5))
        }
        process.send(SIGINT)
        return try await process.result()
    }

    @Test
    func `X05 the same command after a signal downloads only what is missing`() async throws {
        let file = Response.file(resource)
        let routes = ["/a": file, "/b": file, "/slow": .sequence([file.stalled(after: 100_000)], then: file)]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/b", "/slow"].map { server.url($0) }
                let stopped = try await interrupt([], urls, in: folder, server)
                #expect(stopped.status == 130)
                let last = try #require(stopped.errorLines.last)
                #expect(
                    last.contains("the received bytes are saved in ") && last.contains(" Finished files are not "),
                    "\(last)"
                )
                let line = ["get", "-j", "1", "-d", "files"] + urls.map(\.absoluteString)
                var process = try ToolProcess(line, in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(
                    result.errorLines.contains("slow: resuming with 97.6 KiB of 292 KiB already downloaded"),
                    "\(result.errors)"
                )
                #expect(result.errorLines.contains { $0.hasPrefix("slow: finished, 292 KiB (195 KiB downloaded) in ") })
                let files = folder.appending(path: "files")
                #expect(resource.body.difference(fromFileAt: files.appending(path: "slow")) == nil)
                // Without extended attributes, finished files are not recognized.
                guard server.requests.contains(where: { $0["If-None-Match"] != nil }) else { return }
                #expect(result.errorLines.contains("a: already downloaded, not changed on the server"))
                #expect(try FileProbe.names(in: files) == ["a", "b", "slow"])
                #expect(server.requests.filter { $0.path == "/a" }.map(\.bodyBytesSent) == [300_000, 0])
            }
        }
    }

    @Test
    func `a download without a validator is announced to start over`() async throws {
        var unknown = resource
        (unknown.etag, unknown.lastModified) = (nil, nil)
        let routes = ["/a": Response.file(unknown), "/slow": .file(unknown).stalled(after: 100_000)]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let urls = ["/a", "/slow"].map { server.url($0) }
                let result = try await interrupt(["--if-exists", "rename"], urls, in: folder, server)
                #expect(result.status == 130)
                #expect(
                    result.errorLines.last
                        == "headrace: interrupted. Run the same command again to continue. slow will start over, because its "
                        + "server sent no ETag or Last-Modified date. To skip finished files, use --if-exists skip."
                )
            }
        }
    }

    @Test
    func `a new version of a file is saved beside the old one`() async throws {
        let new = Resource(size: 300_000, seed: 2, etag: "\"v2\"")
        try await withFaultServer(.sequence([.file(resource)], then: .file(new))) { server in
            try await withTemporaryDirectory { folder in
                for _ in 0..<2 {
                    let result = try await ToolProcess.run("get", "-q", server.url("/a").absoluteString, in: folder)
                    #expect(result.status == 0)
                }
                #expect(resource.body.difference(fromFileAt: folder.appending(path: "a")) == nil)
                #expect(new.body.difference(fromFileAt: folder.appending(path: "a (1)")) == nil)
            }
        }
    }

    /// The options that identify the user; a header field applies only to the one URL.
    private static let logins = [
        ["--netrc-file", "ada.netrc"], ["--cookies", "ada.cookies"], ["--header", "Authorization: Bearer ada"],
        ["--header", "X-Api-Key: ada"], ["ada@"],
    ]

    /// Responds to each user with the user's own file.
    private static func guarded(_ files: [String: Resource]) -> Response {
        .answering { request in
            let basic = files.keys.first { user in
                request["Authorization"] == "Basic " + Data("\(user):x".utf8).base64EncodedString()
            }
            let value = request["Cookie"] ?? request["X-Api-Key"] ?? request["Authorization"]
            let user = basic ?? files.keys.first { value?.contains($0) == true }
            let file = user.flatMap { files[$0] }.map { Response.file($0) }
            return file ?? .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
        }
    }

    private func writeLogins(in folder: URL) throws {
        for user in ["ada", "bob"] {
            for (name, text) in [
                ("netrc", "machine 127.0.0.1 login \(user) password x"),
                ("cookies", "127.0.0.1\tFALSE\t/\tFALSE\t0\tuser\t\(user)\n"),
            ] {
                let file = folder.appending(path: "\(user).\(name)")
                try Data(text.utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            }
        }
    }

    @Test(arguments: logins, [false, true])
    func `the same command with a login downloads nothing twice, and another login gets its own file`(
        _ login: [String],
        isList: Bool
    ) async throws {
        let other = Resource(size: 300_000, seed: 2)
        try await withFaultServer(Self.guarded(["ada": resource, "bob": other])) { server in
            try await withTemporaryDirectory { folder in
                try writeLogins(in: folder)
                var conditions: [String?] = []
                for user in ["ada", "ada", "bob", "ada", "bob"] {
                    var options = login.map { $0.replacing("ada", with: user) }
                    var url = server.url("/a").absoluteString
                    if options.count == 1 {
                        url = url.replacing("http://", with: "http://\(user):x@")
                        options = []
                    }
                    if isList { try Data(url.utf8).write(to: folder.appending(path: "list")) }
                    let line = ["get", "-d", "files"] + options + (isList ? ["--input-file", "list"] : [url])
                    var process = try ToolProcess(line, in: folder)
                    let result = try await process.result()
                    #expect(result.status == 0, "\(result.errors)")
                    conditions.append(server.requests.last?["If-None-Match"])
                }
                // Without extended attributes, finished files are not recognized.
                guard conditions.contains("\"v1\"") else { return }
                let files = folder.appending(path: "files")
                #expect(try FileProbe.names(in: files) == ["a", "a (1)"])
                #expect(resource.body.difference(fromFileAt: files.appending(path: "a")) == nil)
                #expect(other.body.difference(fromFileAt: files.appending(path: "a (1)")) == nil)
                #expect(server.requests.map(\.bodyBytesSent).filter { $0 > 1000 } == [300_000, 300_000])
            }
        }
    }

    @Test
    func `a queue run with a login downloads a file once`() async throws {
        try await withFaultServer(Self.guarded(["ada": resource])) { server in
            try await withQueueFolder { folder in
                try writeLogins(in: folder.url)
                let login = folder.url.appending(path: "ada.netrc").path(percentEncoded: false)
                for _ in 0..<2 {
                    _ = try await folder.add(server.url("/a"))
                    var run = try folder.run("--netrc-file", login)
                    let result = try await run.result()
                    #expect(result.status == 0, "\(result.errors)")
                }
                #expect(try await folder.states() == ["finished", "finished"])
                guard server.requests.contains(where: { $0["If-None-Match"] != nil }) else { return }
                #expect(try FileProbe.names(in: folder.files) == ["a"])
            }
        }
    }
}
