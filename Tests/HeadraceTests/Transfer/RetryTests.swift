import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The failures that are retried, and when, on a test clock.
@Suite(.timeLimit(.minutes(4)))
struct RetryTests {
    private let file = ResumeFixture.old

    private func manager(
        _ clock: TestClock,
        _ transport: any Transport,
        retries: Int = 3,
        base: Duration = .zero
    ) async throws -> DownloadManager {
        try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.retryPolicy.maxFailures = retries
                    $0.retryPolicy.baseDelay = base
                    $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                },
                transport: transport,
                clock: AnyClock(clock)
            )
        )
    }

    @Test func `an unreachable host has a retry limit of its own, which a host that responded does not`()
        async throws
    {
        let closed = "http://127.0.0.1:1/file.bin"
        try await withFaultServer(.redirect(to: closed)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.retryPolicy.maxFailures = 3
                    $0.retryPolicy.maxUnreachableFailures = 1
                    $0.retryPolicy.baseDelay = .milliseconds(1)
                }
                try await withDownloadManager(configuration) { manager in
                    for (url, retries) in [(try #require(URL(string: closed)), 1), (server.url("/file.bin"), 3)] {
                        let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
                        var count = 0
                        for await event in download.events { if case .retrying = event { count += 1 } }
                        #expect(count == retries)
                        guard case .failed(let error) = download.state else {
                            Issue.record("\(download.state)")
                            continue
                        }
                        #expect(error.code == .connection)
                    }
                }
            }
        }
    }

    @Test func `T01 a refused connection is retried until the server responds`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(file), isListening: false) { server in
                let clock = TestClock()
                let transport = try DownloadConfiguration().makeTransport()
                let manager = try await manager(clock, transport, base: .seconds(1 << 20))
                let download = try await manager.download(
                    DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                )
                for attempt in 1...2 {
                    try await clock.sleeperArmed()
                    if attempt == 2 { try server.listen() }
                    clock.advance(by: .seconds(60))
                }
                let result = try await download.value
                #expect(file.body.difference(fromFileAt: result) == nil)
                await manager.shutdown()
            }
        }
    }

    @Test func `T02 a host name without an address is resolved again`() async throws {
        try await withTemporaryDirectory { folder in
            let failures = Locked(2)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, retries: 3) { request in
                let mustFail = failures.withLock { failures in
                    failures -= 1
                    return failures >= 0
                }
                if mustFail { throw DownloadError(.nameResolution, "No such host.") }
                return DiskFixture.response(request)
            }
            #expect(outcome.error == nil)
            #expect(outcome.starts.count == 3)
        }
    }

    @Test(arguments: [500, 502, 503, 504, 408, 429])
    func `T03 T07 a transient status is retried, and its body is not saved`(_ status: Int) async throws {
        let refusal = Response.status(status, body: .pattern(seed: 9, size: 1_000_000))
        let outcome = try await withTemporaryDirectory {
            try await ResumeFixture.run(.sequence([refusal, refusal], then: .file(file)), in: $0)
        }
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 3)
        let later = try await ResumeFixture.afterCut(refusal, then: .file(file))
        #expect(later.isExact)
        #expect(later.resumes == [ResumeFixture.cut])
    }

    @Test(arguments: [400, 401, 403, 404, 410, 451])
    func `T04 T08 a permanent status fails at once, and the bytes are kept`(_ status: Int) async throws {
        let outcome = try await ResumeFixture.afterCut(.status(status))
        #expect(outcome.error?.statusCode == status)
        #expect(outcome.requests.count == 2)
        #expect(outcome.names.count == 2)
    }

    /// The value of `Retry-After`, and the wait that follows from it.
    @Test(arguments: [
        ("2", Duration.seconds(2)), ("Thu, 02 Jan 2025 00:00:02 GMT", .seconds(2)), ("0", .zero), ("-5", .zero),
        ("soon", .zero), ("Thu, 01 Jan 2015 00:00:00 GMT", .zero), ("1000000000000", .seconds(6 * 3600)),
    ])
    func `T05 T06 Retry-After is honoured if it is valid`(
        _ text: String,
        _ delay: Duration
    )
        async throws
    {
        try await expectWait(
            of: delay,
            after: .status(503, headers: ["Retry-After": text, "Date": "Thu, 02 Jan 2025 00:00:00 GMT"])
        )
    }

    @Test func `D16 Retry-After of a redirect is honoured`() async throws {
        try await expectWait(of: .seconds(2), after: .redirect(to: "/file.bin").header("Retry-After", "2"))
    }

    /// Regression: the wait was up to six hours, and nothing reported it.
    @Test func `D16 Retry-After of a redirect is limited to ten seconds`() async throws {
        try await expectWait(of: .seconds(10), after: .redirect(to: "/file.bin").header("Retry-After", "7200"))
    }

    private func expectWait(of delay: Duration, after first: Response) async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.sequence([first], then: .file(file))) { server in
                let clock = TestClock()
                let manager = try await manager(clock, try DownloadConfiguration().makeTransport())
                let download = try await manager.download(
                    DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                )
                if delay > .zero {
                    try await clock.sleeperArmed(for: delay)
                    clock.advance(by: delay - .milliseconds(1))
                    #expect(server.requests.count == 1)
                    clock.advance(by: .milliseconds(1))
                }
                _ = try await download.value
                #expect(server.requests.count == 2)
                await manager.shutdown()
            }
        }
    }

    @Test func `bytes of this run are resumed even if those of earlier runs are not`() async throws {
        let outcome = try await withTemporaryDirectory { folder in
            try await ResumeFixture.run(
                .sequence([.file(file).truncated(after: ResumeFixture.cut)], then: .file(file)),
                in: folder
            ) { $0.resumesPartialDownloads = false }
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [ResumeFixture.cut])
    }

    @Test func `T09 a stalled download is resumed`() async throws {
        let outcome = try await withTemporaryDirectory {
            try await ResumeFixture.run(
                .sequence([.file(file).stalled(after: ResumeFixture.cut)], then: .file(file)),
                in: $0
            ) { $0.stallTimeout = .seconds(10) }
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes.count == 1)
    }

    @Test func `T13 a download with one byte per attempt does not retry forever`() async throws {
        try await withTemporaryDirectory { folder in
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, retries: 5) {
                DiskFixture.response($0, sending: 1)
            }
            #expect(outcome.error?.code == .connectionLost)
            #expect(outcome.starts.count == 51)
            #expect(outcome.starts.last == 50)
        }
    }

    @Test func `T14 C01 a hundred downloads that fail together stay within the limit`() async throws {
        let response = Response.sequence([.status(503), .file(file).truncated(after: 1000)], then: .file(file))
        try await withFaultServer(response.delayed(.milliseconds(2))) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = 3
                    $0.retryPolicy.baseDelay = .milliseconds(5)
                    $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                    $0.durability = .none
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        (0..<100).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
                    )
                    for download in downloads { _ = try await download.value }
                }
                #expect(server.traffic.maxActiveRequests <= 3)
                #expect(server.requests.count == 300)
                #expect(try FileProbe.names(in: folder).count == 100)
            }
        }
    }

    @Test func `T16 a reused connection that was closed does not count as a retry`() async throws {
        let response = Response.answering { request in
            request.path == "/a" ? Response.ok("hello").ending(by: .fin) : .ok("hello")
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(.init { $0.retryPolicy.maxFailures = 0 }) { manager in
                    for path in ["/a", "/b", "/a", "/c"] {
                        let request = DownloadRequest(server.url(path), to: .directory(folder))
                        _ = try await manager.download(request).value
                    }
                }
            }
        }
    }
}
