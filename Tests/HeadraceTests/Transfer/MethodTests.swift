import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Requests with another method than GET, and with a body.
@Suite(.timeLimit(.minutes(4)))
struct MethodTests {
    private static let json = HeaderField(name: "Content-Type", value: "application/json")
    private let file = ResumeFixture.old
    private let cut = ResumeFixture.cut
    /// Large enough for progress to be published while no bytes arrive.
    private let large = Resource(size: 3 << 20, seed: 1, etag: "\"v1\"")
    private let largeCut: Int64 = 2 << 20

    /// Runs a POST of `/file.bin` with a body.
    private func run(
        _ response: Response,
        in folder: URL,
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await ResumeFixture.run(response, in: folder) { _ in
        } change: {
            $0.method = "POST"
            $0.body = .data(Data("{}".utf8))
            $0.headers = [Self.json]
            $0.destination = .file(folder.appending(path: "file.bin"))
            change(&$0)
        }
    }

    @Test(arguments: ["POST", "PUT", "QUERY"])
    func `a request has the method, the body and the type of the caller`(_ method: String) async throws {
        try await withTemporaryDirectory { folder in
            let outcome = try await run(.file(file), in: folder) { $0.method = method }
            #expect(outcome.isExact)
            let request = try #require(outcome.requests.first)
            #expect(request.method == method)
            #expect(request.body == Array("{}".utf8))
            #expect(request.values(of: "Content-Type") == ["application/json"])
            #expect(request.values(of: "Content-Length") == ["2"])
            #expect(request["Range"] == nil && request["If-None-Match"] == nil)
        }
    }

    @Test(arguments: [(0, false), (3 << 20, true)])
    func `the body can be a file or a link to one`(_ size: Int, _ isLink: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let content = folder.appending(path: "content")
            let bytes = Pattern(seed: 7).bytes(in: 0..<Int64(size))
            let target = isLink ? folder.appending(path: "target") : content
            try Data(bytes).write(to: target)
            if isLink { try FileManager.default.createSymbolicLink(at: content, withDestinationURL: target) }
            let outcome = try await run(.file(file), in: folder) { $0.body = .file(content) }
            #expect(outcome.error == nil)
            #expect(outcome.requests.first?.body == bytes)
            #expect(outcome.requests.first?["Expect"] == nil)
        }
    }

    @Test func `a missing file with the body is an error, and nothing is sent`() async throws {
        try await withTemporaryDirectory { folder in
            let missing = folder.appending(path: "missing")
            let outcome = try await run(.file(file), in: folder) { $0.body = .file(missing) }
            #expect(outcome.error?.message.contains("missing could not be read") == true)
            #expect(outcome.requests.isEmpty)
        }
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (301, "PUT", "PUT"),
        (307, "POST", "POST"), (308, "POST", "POST"), (308, "PATCH", "PATCH"),
    ])
    func `a redirect changes or repeats the method as RFC 9110 says`(
        _ status: Int,
        _ method: String,
        _ next: String
    ) async throws {
        try await withTemporaryDirectory { folder in
            let routes = ["/file.bin": Response.redirect(status, to: "/next"), "/next": .file(file)]
            let outcome = try await run(.routes(routes), in: folder) { $0.method = method }
            #expect(outcome.isExact)
            #expect(outcome.requests.map(\.method) == [method, next])
            #expect(outcome.requests.last?.body == Array((next == "GET" ? "" : "{}").utf8))
            #expect((outcome.requests.last?["Content-Type"] == nil) == (next == "GET"))
        }
    }

    @Test func `a secret body does not follow a redirect to another origin`() throws {
        let url = try #require(URL(string: "https://a.example/x"))
        let other = try #require(URL(string: "https://b.example/x"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
        request.method = "POST"
        request.body = .data(Data([1]), isSecret: true)
        var chain = RedirectChain(request, at: url, DownloadConfiguration())
        #expect(throws: DownloadError.self) { try chain.follow(other, status: 307) }
        chain = RedirectChain(request, at: url, DownloadConfiguration())
        try chain.follow(other, status: 303)
        #expect(chain.method == "GET" && !chain.sendsBody)
    }

    @Test func `a request that must not be repeated is sent once`() async throws {
        try await withTemporaryDirectory { folder in
            let outcome = try await run(.file(file).truncated(after: cut), in: folder)
            #expect(outcome.error?.code == .connectionLost)
            #expect(outcome.requests.count == 1)
        }
    }

    @Test func `a decision to retry does not repeat a request that must not be repeated`() async throws {
        try await withTemporaryDirectory { folder in
            let outcome = try await ResumeFixture.run(.status(503), in: folder) {
                $0.retryPolicy.decide = { _, _ in .retry(after: .zero) }
            } change: {
                $0.method = "POST"
            }
            #expect(outcome.error?.statusCode == 503)
            #expect(outcome.requests.count == 1)
        }
    }

    @Test func `a repeatable request is retried and resumed`() async throws {
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(file).truncated(after: cut)], then: .file(file))
            let outcome = try await run(response, in: folder) { $0.isRepeatable = true }
            #expect(outcome.isExact)
            #expect(outcome.requests.map(\.method) == ["POST", "POST"])
            #expect(outcome.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test(arguments: [
        ("HEAD", "probe"), ("CONNECT", "CONNECT"), ("TRACE", "TRACE"), ("GET", "no body"), ("", "not a method"),
        ("PO ST", "not a method"), ("get", "write GET"), ("head", "write HEAD"),
    ])
    func `a method that downloads nothing is rejected`(_ method: String, _ text: String) throws {
        var request = DownloadRequest(try #require(URL(string: "http://h/a")), to: .directory(URL(filePath: "/")))
        request.method = method
        request.body = .data(Data())
        let error = #expect(throws: DownloadError.self) { try request.validate() }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }

    @Test func `mirrors need a request that may be repeated`() throws {
        let url = try #require(URL(string: "http://h/a"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
        request.method = "POST"
        request.mirrors = [url]
        #expect(throws: DownloadError.self) { try request.validate() }
        request.isRepeatable = true
        #expect(throws: Never.self) { try request.validate() }
        request.body = .data(Data(repeating: 0, count: (1 << 20) + 1))
        #expect(throws: DownloadError.self) { try request.validate() }
    }

    @Test func `requests of one URL with different bodies are different downloads`() throws {
        let url = try #require(URL(string: "http://h/a"))
        var paths: Set<String> = []
        for body in [nil, DownloadRequest.Body.data(Data([1])), .data(Data([2])), .file(URL(filePath: "/b"))] {
            var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
            request.method = "POST"
            request.body = body
            paths.insert(DestinationPaths(request).partialPath)
        }
        paths.insert(DestinationPaths(DownloadRequest(url, to: .directory(URL(filePath: "/")))).partialPath)
        #expect(paths.count == 5)
    }

    @Test func `a registry saves a small body and the path of a file`() throws {
        let url = try #require(URL(string: "http://h/a"))
        let path = URL(filePath: "/home/user/body")
        for body in [DownloadRequest.Body.data(Data([0, 255])), .file(path)] {
            var request = DownloadRequest(url, to: .directory(URL(filePath: "/home/user/")))
            (request.method, request.body, request.isRepeatable) = ("POST", body, true)
            let saved = RegistryRequest(request, bases: RegistryFixture.bases)
            let journal = try RegistryFixture.journal([.added([RegistryEntry(id: 1, saved, label: 0)])])
            let entry = try #require(try RegistryFixture.read(journal).snapshot.entries.first)
            let restored = try #require(entry.request.downloadRequest(in: RegistryFixture.bases))
            #expect(restored.method == "POST" && restored.isRepeatable)
            #expect(restored.body == body)
        }
    }

    @Test(
        arguments: [.data(Data([1]), isSecret: true), .data(Data(repeating: 0, count: (64 << 10) + 1))]
            as [DownloadRequest.Body]
    )
    func `a registry rejects a secret and a long body`(_ body: DownloadRequest.Body) async throws {
        try await withTemporaryDirectory { folder in
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            let url = try #require(URL(string: "http://127.0.0.1:1/a"))
            var request = DownloadRequest(url, to: .directory(folder))
            (request.method, request.body) = ("POST", body)
            let configuration = DownloadConfiguration { $0.registryDirectory = directory }
            try await withDownloadManager(configuration) { manager in
                let error = await #expect(throws: DownloadError.self) { try await manager.download(request) }
                #expect(error?.code == .invalidRequest)
                #expect(await manager.downloads.isEmpty)
            }
            let registry = DownloadRegistry(directory: directory)
            await #expect(throws: DownloadError.self) { try await registry.add([request]) }
        }
    }

    @Test func `a secret body is sent to no other origin`() async throws {
        try await withTemporaryDirectory { folder in
            let url = try #require(URL(string: "http://127.0.0.1:1/a"))
            let other = try #require(URL(string: "http://127.0.0.1:2/a"))
            var request = DownloadRequest(url, to: .directory(folder))
            (request.method, request.isRepeatable, request.startsPaused) = ("POST", true, true)
            request.body = .data(Data([1]), isSecret: true)
            try await withDownloadManager(DownloadConfiguration()) { [request] manager in
                let download = try await manager.download(request)
                let error = await #expect(throws: DownloadError.self) { try await download.setURL(other) }
                #expect(error?.code == .invalidRequest)
                try await download.setURL(url.appending(path: "b"))
            }
            request.mirrors = [other]
            #expect(throws: DownloadError.self) { try request.validate() }
        }
    }

    @Test func `after a pause, a request that must not be repeated begins again`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.sequence([.file(large).stalled(after: largeCut)], then: .file(large))) {
                server in
                var request = DownloadRequest(server.url("/a"), to: .directory(folder))
                request.method = "POST"
                try await withDownloadManager(DownloadConfiguration()) { [request] manager in
                    let download = try await manager.download(request)
                    for await progress in download.progress where progress.bytesReceived >= largeCut { break }
                    await download.pause()
                    await download.resume()
                    #expect(large.body.difference(fromFileAt: try await download.value) == nil)
                }
                #expect(server.requests.map { $0["Range"] } == [nil, nil])
                #expect(server.requests.map { $0["Content-Length"] } == ["0", "0"])
                #expect(server.requests.allSatisfy { $0["Content-Type"] == nil })
            }
        }
    }

    @Test func `after a restart, a request that was interrupted is paused, not repeated`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(large).stalled(after: largeCut)) { server in
                let configuration = DownloadConfiguration {
                    $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                }
                try await withDownloadManager(configuration) { manager in
                    var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    request.method = "POST"
                    let download = try await manager.download(request)
                    for await progress in download.progress where progress.bytesReceived == largeCut { break }
                }
                try await withDownloadManager(configuration) { manager in
                    #expect(await manager.downloads.map(\.state) == [.paused])
                }
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func `a lower limit does not stop a request that must not be repeated`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(large).stalled(after: largeCut)) { server in
                try await withDownloadManager { manager in
                    var downloads: [Download] = []
                    for path in ["/a", "/b"] {
                        var request = DownloadRequest(server.url(path), to: .directory(folder))
                        request.method = "POST"
                        let download = try await manager.download(request)
                        for await progress in download.progress where progress.bytesReceived == largeCut { break }
                        downloads.append(download)
                    }
                    try await manager.setMaxConcurrentDownloads(1)
                    #expect(downloads.map(\.state) == [.running, .running])
                    #expect(server.requests.count == 2)
                }
            }
        }
    }
}
