import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Links that expire, and the providers of new ones.
@Suite(.timeLimit(.minutes(4)))
struct FreshLinkTests {
    private struct ResponseRejection: Error {}

    private let file = ResumeFixture.old
    private let cut = ResumeFixture.cut

    /// Runs a download from `/old`; `provide` receives the server and the number of earlier calls.
    private func run(
        _ routes: [String: Response],
        mirrors: [String] = [],
        expires: Date? = nil,
        expecting expected: Resource = ResumeFixture.old,
        provide: @escaping @Sendable (FaultServer, Int) async throws -> DownloadRequest.Link
    ) async throws -> (outcome: ResumeOutcome, requested: Int) {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(routes)) { server in
                let configuration = DownloadConfiguration { $0.retryPolicy.baseDelay = .zero }
                return try await withDownloadManager(configuration) { manager in
                    let requested = Asked()
                    var request = DownloadRequest(server.url("/old"), to: .file(folder.appending(path: "file.bin")))
                    request.mirrors = mirrors.map { server.url($0) }
                    request.urlExpires = expires
                    request.linkProvider = .init {
                        try await provide(
                            server,
                            requested.count.withLock {
                                $0 += 1
                                return $0
                            }
                        )
                    }
                    let download = try await manager.download(request)
                    let outcome = try await ResumeFixture.outcome(
                        of: download,
                        from: server,
                        in: folder,
                        expecting: expected
                    )
                    return (outcome, requested.count.withLock { $0 })
                }
            }
        }
    }

    private final class Asked: Sendable {
        let count = Locked(0)
    }

    @Test(arguments: [401, 403, 404, 410])
    func `R33 a link that expires during the download is replaced, and the bytes are kept`(_ status: Int) async throws {
        let old = Response.sequence([.file(file).truncated(after: cut)], then: .status(status))
        let (outcome, requested) = try await run(["/old": old, "/new": .file(file)]) { server, _ in
            .init(server.url("/new"))
        }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(requested == 1)
        #expect(outcome.requests.map(\.path) == ["/old", "/old", "/new"])
        #expect(outcome.ranges.last == "bytes=\(cut)-")
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `the configuration's link provider serves downloads without one of their own`() async throws {
        try await withTemporaryDirectory { folder in
            let routes = ["/new": Response.file(file), "/own": .file(file)]
            try await withFaultServer(.routes(routes, otherwise: .status(403))) { server in
                let configuration = DownloadConfiguration {
                    $0.linkProvider = { .init(server.url($0.url.path() == "/old" ? "/new" : "/none")) }
                }
                try await withDownloadManager(configuration) { manager in
                    var requests = ["/old", "/other"].map {
                        DownloadRequest(server.url($0), to: .file(folder.appending(path: "\($0.dropFirst()).bin")))
                    }
                    requests[1].linkProvider = .init { .init(server.url("/own")) }
                    for request in requests {
                        let saved = try await manager.download(request).value
                        #expect(file.body.difference(fromFileAt: saved) == nil)
                    }
                }
            }
        }
    }

    @Test func `a link to another file restarts the download, and versions are never mixed`() async throws {
        let old = Response.sequence([.file(file).truncated(after: cut)], then: .status(403))
        let (outcome, _) = try await run(
            ["/old": old, "/new": .file(ResumeFixture.new)],
            expecting: ResumeFixture.new
        ) { server, _ in .init(server.url("/new")) }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `a link past its expiry date is not requested`() async throws {
        let (outcome, requested) = try await run(
            ["/old": .file(file), "/new": .file(file)],
            expires: .distantPast
        ) { server, _ in .init(server.url("/new"), expires: .distantFuture) }
        #expect(outcome.isExact)
        #expect(requested == 1)
        #expect(outcome.requests.map(\.path) == ["/new"])
    }

    @Test func `an error of the link provider is the cause of the failure, and the bytes are kept`() async throws {
        let old = Response.sequence([.file(file).truncated(after: cut)], then: .status(403))
        let (outcome, requested) = try await run(["/old": old]) { _, _ in throw ResponseRejection() }
        let error = try #require(outcome.error)
        #expect(requested == 1)
        #expect(error.statusCode == 403)
        #expect(error.cause is ResponseRejection)
        #expect(error.message.contains("No new link could be obtained"))
        #expect(outcome.names.contains { $0.hasSuffix(".part") })
    }

    @Test func `a link that is not an http or https URL is rejected`() async throws {
        let (outcome, _) = try await run(["/old": .status(403)]) { _, _ in .init(URL(filePath: "/etc/passwd")) }
        #expect(outcome.error?.message.contains("is not an http or https URL") == true)
        #expect(outcome.requests.count == 1)
    }

    @Test func `failing links are requested a limited number of times before the mirrors are tried`() async throws {
        let routes: [String: Response] = ["/old": .status(404), "/new": .status(410), "/mirror": .file(file)]
        let (outcome, requested) = try await run(routes, mirrors: ["/mirror"]) { server, _ in .init(server.url("/new"))
        }
        #expect(outcome.isExact)
        #expect(requested == 3)
        #expect(outcome.requests.map(\.path) == ["/old", "/new", "/new", "/new", "/mirror"])
        let (failure, _) = try await run(["/old": .status(404), "/new": .status(410)]) { server, _ in
            .init(server.url("/new"))
        }
        #expect(failure.error?.statusCode == 410)
    }

    @Test func `a mirror without the file is abandoned, and the link provider is not called for it`() async throws {
        let routes: [String: Response] = ["/old": .status(500), "/gone": .status(404), "/mirror": .file(file)]
        let (outcome, requested) = try await run(routes, mirrors: ["/gone", "/mirror"]) { server, _ in
            .init(server.url("/mirror"))
        }
        #expect(outcome.isExact)
        #expect(requested == 0)
        #expect(outcome.requests.map(\.path) == ["/old", "/gone", "/mirror"])
    }

    @Test func `a pause does not wait for the link provider`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.status(403)) { server in
                try await withDownloadManager { manager in
                    let (questions, question) = AsyncStream.makeStream(of: Void.self)
                    var request = DownloadRequest(server.url("/old"), to: .file(folder.appending(path: "file.bin")))
                    request.linkProvider = .init {
                        question.yield(())
                        // The loop ends only when the task is cancelled.
                        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
                        for await _ in never {}
                        continuation.finish()
                        throw CancellationError()
                    }
                    let download = try await manager.download(request)
                    for await _ in questions { break }
                    await download.pause()
                    #expect(download.state == .paused)
                }
            }
        }
    }

    @Test func `adding the same file again supplies a link provider`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/old": .status(403), "/new": .file(file)])) { server in
                try await withDownloadManager { manager in
                    var request = DownloadRequest(server.url("/old"), to: .file(folder.appending(path: "file.bin")))
                    request.startsPaused = true
                    let download = try await manager.download(request)
                    let link = server.url("/new")
                    request.linkProvider = .init { .init(link) }
                    #expect(try await manager.download(request) == download)
                    await download.resume()
                    _ = try await download.value
                }
            }
        }
    }

    @Test func `a download whose link expired continues if it is added again with a provider`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/old": .status(403), "/new": .file(file)])) { server in
                try await withDownloadManager { manager in
                    var request = DownloadRequest(server.url("/old"), to: .file(folder.appending(path: "file.bin")))
                    let download = try await manager.download(request)
                    let error = await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(error?.statusCode == 403)
                    // Without a provider, the request adds another download.
                    let other = try await manager.download(request)
                    #expect(other != download)
                    await #expect(throws: DownloadError.self) { try await other.value }
                    let link = server.url("/new")
                    request.linkProvider = .init { .init(link) }
                    let again = try await manager.download(request)
                    #expect(again == other)
                    _ = try await again.value
                }
            }
        }
    }
}
