import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads whose URL changes while their bytes stay.
@Suite(.timeLimit(.minutes(4)))
struct NewURLTests {
    /// Large enough for progress to be published while no bytes arrive.
    private static let size: Int64 = 3 << 20
    private let file = Resource(size: size, seed: 1, etag: "\"v1\"")
    private let other = Resource(size: size, seed: 2, etag: "\"v2\"")
    private let cut: Int64 = 2 << 20

    /// Runs the body with a server whose `/old` sends a part of the file and then `end`, and whose `/new` sends it all.
    private func withServer(
        old: Response? = nil,
        new: Resource? = nil,
        _ body: (FaultServer, URL) async throws -> Void
    ) async throws {
        let cutOnce = Response.sequence([.file(file).truncated(after: cut)], then: .status(403))
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/old": old ?? cutOnce, "/new": .file(new ?? file)])) { server in
                try await body(server, folder)
            }
        }
    }

    private func request(_ url: URL, in folder: URL, identity: String? = nil) -> DownloadRequest {
        var request = DownloadRequest(url, to: .file(folder.appending(path: "file.bin")))
        request.identity = identity
        return request
    }

    private var configuration: DownloadConfiguration {
        DownloadConfiguration {
            $0.retryPolicy.baseDelay = .zero
            $0.maxConnectionsPerDownload = 1
        }
    }

    private func expectResumed(
        _ server: FaultServer,
        in folder: URL,
        _ location: SourceLocation = #_sourceLocation
    )
        throws
    {
        let last = try #require(server.requests.last)
        #expect(last.path == "/new", sourceLocation: location)
        #expect(last["Range"] == "bytes=\(cut)-", sourceLocation: location)
        #expect(last["If-Range"] == "\"v1\"", sourceLocation: location)
        #expect(try FileProbe.names(in: folder).filter { $0 != "registry" } == ["file.bin"], sourceLocation: location)
        let difference = file.body.difference(fromFileAt: folder.appending(path: "file.bin"))
        #expect(difference == nil, sourceLocation: location)
    }

    @Test(arguments: ["report-42", "https://example.org/report?id=42", "a b/ü"])
    func `a request with another URL and the same identity resumes the partial file`(_ identity: String) async throws {
        try await withServer { server, folder in
            for path in ["/old?sig=1", "/new?sig=2"] {
                try await withDownloadManager(configuration) { manager in
                    let download = try await manager.download(
                        request(server.url(path), in: folder, identity: identity)
                    )
                    _ = try? await download.value
                }
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `a request with a new URL supplies the secret fields for it`() async throws {
        let new = Response.answering { [file] in $0["Authorization"] == "Bearer new" ? .file(file) : .status(401) }
        let old = Response.sequence([.file(file).truncated(after: cut)], then: .status(403))
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/old": old, "/new": new])) { server in
                try await withDownloadManager(configuration) { manager in
                    for name in ["old", "new"] {
                        var request = request(server.url("/\(name)"), in: folder, identity: "report")
                        request.headers = [HeaderField(name: "Authorization", value: "Bearer \(name)")]
                        _ = try? await manager.download(request).value
                    }
                }
                try expectResumed(server, in: folder)
            }
        }
    }

    @Test func `a new link that has expired is not requested`() async throws {
        try await withServer { server, folder in
            try await withDownloadManager(configuration) { manager in
                _ = try? await manager.download(request(server.url("/old"), in: folder, identity: "report")).value
                var expired = request(server.url("/expired"), in: folder, identity: "report")
                expired.urlExpires = .distantPast
                expired.linkProvider = .init { .init(server.url("/new")) }
                _ = try await manager.download(expired).value
            }
            #expect(!server.requests.map(\.path).contains("/expired"))
            try expectResumed(server, in: folder)
        }
    }

    @Test(arguments: [false, true])
    func `a new signed link resumes the partial file of the old one`(_ isSameQueue: Bool) async throws {
        let response = Response.answering { [file, cut] request in
            switch request.target {
            case "/f?id=1&X-Amz-Signature=new": .file(file)
            default: request["Range"] == nil ? .file(file).truncated(after: cut) : .status(403)
            }
        }
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                let links = ["old", "new"].map { server.url("/f?id=1&X-Amz-Signature=\($0)") }
                try await withDownloadManager(configuration) { manager in
                    for link in isSameQueue ? links : [links[0]] {
                        _ = try? await manager.download(request(link, in: folder)).value
                    }
                    #expect(await manager.downloads.count == 1)
                }
                if !isSameQueue {
                    _ = try await withDownloadManager(configuration) { manager in
                        try await manager.download(request(links[1], in: folder)).value
                    }
                }
                #expect(server.requests.last?["Range"] == "bytes=\(cut)-")
                #expect(file.body.difference(fromFileAt: folder.appending(path: "file.bin")) == nil)
            }
        }
    }

    @Test(arguments: [
        ("http://u:p@h/a?id=1&X-Amz-Date=2&X-Amz-Signature=x%20y#f", "http://u:p@h/a?id=1"),
        ("http://h/a?X-Goog-Algorithm=a&X-Goog-Signature=b", "http://h/a"),
        ("http://h/a?AWSAccessKeyId=a&Expires=1&Signature=b&versionId=3", "http://h/a?versionId=3"),
        ("http://h/a?GoogleAccessId=a&Expires=1&Signature=b", "http://h/a"),
        ("http://h/a?Policy=a&Signature=b&Key-Pair-Id=c&p=%2F", "http://h/a?p=%2F"),
        ("http://h/a?sv=1&se=2&sr=b&sp=r&sig=x%3D&comp=y", "http://h/a?comp=y"),
        ("http://h/a?sig=1&st=2", "http://h/a?sig=1&st=2"), ("http://h/a?signature=1", "http://h/a?signature=1"),
        ("http://h/a?X-Amz-Date=1#f", "http://h/a?X-Amz-Date=1#f"), ("http://h/a", "http://h/a"),
    ])
    func `a signature is left out of a link only if the link has all its parameters`(
        _ link: String,
        _ key: String
    ) throws {
        #expect(try #require(URL(string: link)).withoutSignature.absoluteString == key)
    }

    @Test func `two downloads are never merged because the hashes of their identities are equal`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.ok("hello").stalled(after: 1)) { server in
                try await withDownloadManager { manager in
                    let names = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"]
                    let requests = names.map { request(server.url("/a"), in: folder, identity: $0) }
                    let paths = requests.map { DestinationPaths($0).partialPath }
                    #expect(paths[0] == paths[1])
                    try await manager.download(requests[0])
                    let error = await #expect(throws: DownloadError.self) { try await manager.download(requests[1]) }
                    #expect(error?.code == .invalidRequest)
                }
            }
        }
    }

    @Test func `an identity must not be empty`() async throws {
        let url = try #require(URL(string: "http://h/a"))
        #expect(throws: DownloadError.self) { try request(url, in: URL(filePath: "/"), identity: "").validate() }
        #expect(throws: Never.self) { try request(url, in: URL(filePath: "/"), identity: "a").validate() }
    }

    @Test func `without an identity, a request with another URL starts at zero`() async throws {
        try await withServer { server, folder in
            for path in ["/old", "/new"] {
                try await withDownloadManager(configuration) { manager in
                    _ = try? await manager.download(request(server.url(path), in: folder)).value
                }
            }
            #expect(server.requests.last?["Range"] == nil)
        }
    }

    @Test func `a finished file is recognized at another URL with the same identity`() async throws {
        try await withServer { server, folder in
            for path in ["/new?sig=1", "/new?sig=2"] {
                try await withDownloadManager(configuration) { manager in
                    _ = try await manager.download(request(server.url(path), in: folder, identity: "x")).value
                }
            }
            #expect(server.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
        }
    }

    @Test func `a failed download gets a new URL, and keeps its bytes`() async throws {
        try await withServer { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                await #expect(throws: DownloadError.self) { try await download.value }
                let partialFile = download.partialFile
                try await download.setURL(server.url("/new"))
                _ = try await download.value
                #expect(download.partialFile == partialFile)
                #expect(download.request.url == server.url("/new"))
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `a running download gets a new URL, and keeps its bytes`() async throws {
        try await withServer(old: .file(file).stalled(after: cut)) { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                for await progress in download.progress where progress.bytesReceived == cut { break }
                try await download.setURL(server.url("/new"))
                _ = try await download.value
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `a paused download gets a new URL, and stays paused`() async throws {
        try await withServer(old: .file(file).stalled(after: cut)) { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                for await progress in download.progress where progress.bytesReceived == cut { break }
                await download.pause()
                try await download.setURL(server.url("/new"))
                #expect(download.state == .paused)
                await download.resume()
                _ = try await download.value
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `a download that waits for a retry gets a new URL, and starts at once`() async throws {
        let old = Response.sequence(
            [.file(file).truncated(after: cut)],
            then: .status(503, headers: ["Retry-After": "3600"])
        )
        try await withServer(old: old) { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                for await state in download.states where state == .waiting && server.requests.count == 2 { break }
                // Another host, since the wait applies to all URLs of the first one.
                var parts = try #require(URLComponents(url: server.url("/new"), resolvingAgainstBaseURL: false))
                parts.host = "localhost"
                try await download.setURL(try #require(parts.url))
                _ = try await download.value
            }
            try expectResumed(server, in: folder)
        }
    }

    /// The download gets the URL after its transfer has failed, and before the queue knows of the failure.
    @Test(arguments: [true, false])
    func `a URL that is set while a transfer ends is used by the next one`(_ isRetry: Bool) throws {
        let folder = URL(filePath: "/list", directoryHint: .isDirectory)
        let urls = try ["http://h/old", "http://h/new"].map { try #require(URL(string: $0)) }
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: nil)
        let old = request(urls[0], in: folder)
        let added = state.add(
            [QueueAddition(request: old)],
            skippingInvalid: false,
            observers: QueueObservers(),
            at: .zero
        )
        let id = try #require(added.new.first)
        for case .stop(let signal, let reason) in try state.setURL(urls[1], of: id, at: .zero) { signal.stop(reason) }
        let outcome: TransferOutcome =
            isRetry
            ? .retry(TransferState(old, configuration, at: .zero), at: .seconds(9))
            : .failed(DownloadError(.httpStatus, "No.", statusCode: 403))
        let runs = state.ended(id, outcome, at: .zero).compactMap { if case .start(let run) = $0 { run } else { nil } }
        #expect(runs.map(\.record.request.url) == [urls[1]])
        #expect(runs.map { $0.earlier.state == nil } == [true])
    }

    @Test func `another version at the new URL replaces the bytes`() async throws {
        try await withServer(new: other) { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                await #expect(throws: DownloadError.self) { try await download.value }
                try await download.setURL(server.url("/new"))
                _ = try await download.value
            }
            #expect(other.body.difference(fromFileAt: folder.appending(path: "file.bin")) == nil)
        }
    }

    @Test func `secret fields do not follow a new URL to another origin`() throws {
        let url = try #require(URL(string: "https://a.example/x"))
        let token = HeaderField(name: "Authorization", value: "Bearer secret")
        var request = request(url, in: URL(filePath: "/"))
        request.headers = [token, HeaderField(name: "Accept", value: "text/plain")]
        let same = try #require(URL(string: "https://a.example/y"))
        let other = try #require(URL(string: "https://b.example/y"))
        #expect(request.relinked(to: .init(same)).headers.map(\.name) == ["Authorization", "Accept"])
        #expect(request.relinked(to: .init(other)).headers.map(\.name) == ["Accept"])
        let renewed = HeaderField(name: "authorization", value: "Bearer new")
        for url in [same, other] {
            let headers = request.relinked(to: .init(url), with: [renewed, HeaderField(name: "X", value: "1")]).headers
            #expect(headers.map(\.value) == ["text/plain", "Bearer new"])
        }
        var saved = RegistryRequest(request, bases: RegistryFixture.bases)
        saved.relink(as: request.relinked(to: .init(same)))
        #expect(saved.withheldNames == ["Authorization"])
        saved.relink(as: request.relinked(to: .init(other)))
        #expect(saved.withheldNames == [])
    }

    @Test func `an invalid URL changes nothing`() async throws {
        try await withTemporaryDirectory { folder in
            try await withDownloadManager(configuration) { manager in
                var request = request(try #require(URL(string: "http://h/a")), in: folder)
                request.startsPaused = true
                let download = try await manager.download(request)
                let error = await #expect(throws: DownloadError.self) {
                    try await download.setURL(URL(filePath: "/etc/passwd"))
                }
                #expect(error?.code == .invalidRequest)
                #expect(download.request == request)
            }
        }
    }

    // MARK: The queue

    @Test func `a request of the same identity gives a download its URL, and revives one whose link expired`()
        async throws
    {
        try await withServer { server, folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder, identity: "x"))
                await #expect(throws: DownloadError.self) { try await download.value }
                let again = try await manager.download(request(server.url("/new"), in: folder, identity: "x"))
                #expect(again == download)
                _ = try await again.value
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `the new URL and the identity survive a restart`() async throws {
        try await withServer { server, folder in
            var configuration = configuration
            configuration.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                await #expect(throws: DownloadError.self) { try await download.value }
                await manager.pauseAll()
                configuration.startsDownloads = false
            }
            try await withDownloadManager(configuration) { manager in
                let download = try #require(await manager.downloads.first)
                try await download.setURL(server.url("/new"))
            }
            configuration.startsDownloads = true
            try await withDownloadManager(configuration) { manager in
                let download = try #require(await manager.downloads.first)
                #expect(download.request.identity == server.url("/old").absoluteString)
                _ = try await download.value
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test(arguments: [false, true])
    func `another process gives a download a new URL`(_ isRun: Bool) async throws {
        try await withServer { server, folder in
            var configuration = configuration
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            configuration.registryDirectory = directory
            let registry = DownloadRegistry(directory: directory)
            var id: DownloadID?
            func expectNewURL(_ expected: Bool) async throws {
                let id = try #require(id)
                #expect(try await registry.perform(.setURL(server.url("/new"), id)) == expected)
            }
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder))
                await #expect(throws: DownloadError.self) { try await download.value }
                id = download.id
                guard isRun else { return }
                try await expectNewURL(false)
                try await manager.takeCommands()
                _ = try await download.value
            }
            if !isRun {
                try await expectNewURL(true)
                try await withDownloadManager(configuration) { manager in
                    _ = try await manager.downloads.first?.value
                }
            }
            try expectResumed(server, in: folder)
        }
    }

    @Test func `a new URL with a password is not left to another process`() async throws {
        try await withTemporaryDirectory { folder in
            let url = try #require(URL(string: "http://user:word@h/a"))
            let error = await #expect(throws: DownloadError.self) {
                try await DownloadRegistry(directory: folder).perform(.setURL(url, DownloadID(rawValue: 1)))
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(":word") == false)
        }
    }

    @Test func `another process that adds the same identity replaces the URL`() async throws {
        try await withServer(old: .file(file).stalled(after: cut)) { server, folder in
            var configuration = configuration
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            configuration.registryDirectory = directory
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(request(server.url("/old"), in: folder, identity: "x"))
                for await progress in download.progress where progress.bytesReceived == cut { break }
                await download.pause()
                let new = request(server.url("/new"), in: folder, identity: "x")
                let (ids, _) = try await DownloadRegistry(directory: directory).add([new])
                #expect(ids == [download.id])
                try await manager.takeCommands()
                await download.resume()
                _ = try await download.value
            }
            try expectResumed(server, in: folder)
        }
    }
}
