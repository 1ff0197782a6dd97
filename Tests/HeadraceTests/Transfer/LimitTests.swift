import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The limits on the size, the duration and the speed of a download.
@Suite(.timeLimit(.minutes(4)))
struct LimitTests {
    private let file = ResumeFixture.old
    private let cut = ResumeFixture.cut
    private let size = ResumeFixture.size

    private func run(_ response: Response, maxFileSize: Int64) async throws -> ResumeOutcome {
        try await withTemporaryDirectory {
            try await ResumeFixture.run(response, in: $0) { $0.maxFileSize = maxFileSize }
        }
    }

    // MARK: Size

    @Test func `S08 a file announced as too large is rejected before its first byte`() async throws {
        let outcome = try await run(.file(file), maxFileSize: size - 1)
        #expect(outcome.error?.code == .fileTooLarge)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
        #expect(!outcome.events.contains { if case .responded = $0 { true } else { false } })
    }

    @Test func `S08 a file of exactly the maximum size is accepted`() async throws {
        for response in [Response.file(file), Response.file(file).chunked(), Response.file(file).closeDelimited] {
            #expect(try await run(response, maxFileSize: size).isExact)
        }
        #expect(try await run(.ok(""), maxFileSize: 0).names == ["file.bin"])
    }

    @Test(arguments: [true, false])
    func `S08 an endless body stops at the limit`(_ isChunked: Bool) async throws {
        let endless = Response.ok(.pattern(size: 1 << 50))
        let response = isChunked ? endless.chunked([1000]) : endless.closeDelimited
        try await withTemporaryDirectory { folder in
            let outcome = try await ResumeFixture.run(response, in: folder) { $0.maxFileSize = 1_000_000 }
            #expect(outcome.error?.code == .fileTooLarge)
            #expect(outcome.requests.count == 1)
            for name in outcome.names where !name.hasSuffix(RecordFile.suffix) {
                #expect(name.hasSuffix(".part"))
                #expect(try #require(FileProbe.size(of: folder.appending(path: name))) <= 1_000_000)
            }
        }
    }

    /// A range, a whole file in its place, or a range without the complete length exceeds the limit.
    @Test func `S08 a rest that exceeds the limit leaves the downloaded bytes unchanged`() async throws {
        var changed = Resource(size: size, seed: 2, etag: "\"v2\"")
        changed.acceptRanges = "none"
        for rest in [
            Response.file(file), .file(changed), .part(cut..<size, of: file).contentRange("bytes \(cut)-\(size - 1)/*"),
        ] {
            try await withTemporaryDirectory { folder in
                let response = Response.sequence([.file(file).truncated(after: cut)], then: rest)
                try await withFaultServer(response) { server in
                    let first = try await ResumeFixture.run(from: server, in: folder, retries: 0)
                    #expect(first.error?.code == .connectionLost)
                    let second = try await ResumeFixture.run(from: server, in: folder) { $0.maxFileSize = size - 1 }
                    #expect(second.error?.code == .fileTooLarge)
                    #expect(second.restarts.isEmpty)
                    let partial = try #require(second.names.first { $0.hasSuffix(".part") })
                    #expect(FileProbe.size(of: folder.appending(path: partial)) == cut)
                }
            }
        }
    }

    // MARK: Speed

    @Test func `T10 a trickle counts as a stall, and its bytes are kept for the retry`() async throws {
        let drip = Response.file(file).dripping(bytes: 1000, every: .milliseconds(50))
        let outcome = try await withTemporaryDirectory {
            try await ResumeFixture.run(.sequence([drip], then: .file(file)), in: $0) {
                $0.minimumSpeed = 10_000_000
                $0.stallTimeout = .seconds(8)
            }
        }
        #expect(outcome.isExact)
        let reasons = outcome.events.compactMap { if case .retrying(let error, _, _) = $0 { error.code } else { nil } }
        #expect(reasons.first == .stalled)
        #expect(try #require(outcome.resumes.first) > 0)
    }

    // MARK: Time

    private func manager(
        _ clock: TestClock,
        limit: Duration,
        reply: @escaping @Sendable (TransportRequest) throws -> FakeTransport.Reply
    ) async throws -> DownloadManager {
        try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.maxConcurrentDownloads = 1
                    $0.retryPolicy.baseDelay = .zero
                    $0.timeLimit = limit
                },
                transport: FakeTransport(reply),
                clock: AnyClock(clock)
            )
        )
    }

    @Test func `T17 a download that exceeds its time limit fails and keeps its bytes`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let isSlow = Locked(true)
            let manager = try await manager(clock, limit: .seconds(60)) { request in
                var reply = DiskFixture.response(request, sending: isSlow.withLock { $0 } ? 60_000 : .max)
                if isSlow.withLock({ $0 }) { reply = FakeTransport.Reply(reply, end: .silence) }
                return reply
            }
            let request = try DiskFixture.request(to: .directory(folder))
            let slow = try await manager.download(request)
            try await clock.sleeperArmed(for: .seconds(60))
            for await progress in slow.progress where progress.bytesReceived == 60_000 { break }
            clock.advance(by: .milliseconds(59_999))
            #expect(slow.state == .running)
            clock.advance(by: .milliseconds(1))
            let error = await #expect(throws: DownloadError.self) { try await slow.value }
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("within 60 s") == true)
            #expect(FileProbe.size(of: slow.partialFile) == 60_000)

            isSlow.withLock { $0 = false }
            let next = try await manager.download(request)
            #expect(DiskFixture.isExact(try await next.value))
            var events: [DownloadEvent] = []
            for await event in next.events { events.append(event) }
            #expect(events.contains { if case .resumed(60_000, _, _) = $0 { true } else { false } })
            await manager.shutdown()
            #expect(clock.deadlines == [], "the timer of a download that ended is gone")
        }
    }

    @Test func `T17 the error does not suggest resuming a download without a validator`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let manager = try await manager(clock, limit: .seconds(60)) { _ in
                let body = [UInt8](repeating: 1, count: 60_000)
                return FakeTransport.Reply(
                    FakeTransport.Reply(fields: [("Content-Length", "100000")], body: body),
                    end: .silence
                )
            }
            let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
            try await clock.sleeperArmed(for: .seconds(60))
            for await progress in download.progress where progress.bytesReceived == 60_000 { break }
            clock.advance(by: .seconds(60))
            let error = await #expect(throws: DownloadError.self) { try await download.value }
            #expect(error?.message.contains("sends no validator") == true)
            await manager.shutdown()
        }
    }

    @Test func `T17 waits between retries count towards the time limit, waiting for a slot does not`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let manager = try await manager(clock, limit: .seconds(60)) { request in
                guard request.url.path() == "/b" else {
                    return FakeTransport.Reply(DiskFixture.response(request, sending: 1), end: .silence)
                }
                return FakeTransport.Reply(503, fields: [("Retry-After", "3600")])
            }
            let downloads = try await manager.download(
                ["a", "b"].map { DownloadRequest(try #require(URL(string: "http://h/\($0)")), to: .directory(folder)) }
            )
            for download in downloads {
                try await clock.sleeperArmed(for: .seconds(60))
                clock.advance(by: .seconds(60))
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.code == .timedOut)
            }
            await manager.shutdown()
        }
    }

    @Test func `T17 a time limit reached while a host asks to wait names that wait`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let requested = Locked<[String]>([])
            let manager = try await manager(clock, limit: .seconds(2)) { request in
                requested.withLock { $0.append(request.url.path()) }
                return FakeTransport.Reply(503, fields: [("Retry-After", "60")])
            }
            let downloads = try await manager.download(
                ["a", "b"].map { DownloadRequest(try #require(URL(string: "http://h/\($0)")), to: .directory(folder)) }
            )
            for await event in downloads[1].events { if case .notice = event { break } }
            for await state in downloads[1].states where state == .waiting { break }
            try await clock.sleeperArmed(for: .seconds(2))
            clock.advance(by: .seconds(2))
            for download in downloads {
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.code == .timedOut)
                #expect(error?.message.hasPrefix("The host has asked to wait 58 s, also for its other files") == true)
                #expect(error?.message.contains("within 2 s") == true)
            }
            #expect(requested.withLock { $0 } == ["/a"])
            await manager.shutdown()
        }
    }

    @Test func `T17 a download waiting for a slot after a retry has its full time limit`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let refused = Locked(true)
            let manager = try await manager(clock, limit: .seconds(60)) { request in
                if request.url.path() == "/b" {
                    return FakeTransport.Reply(DiskFixture.response(request, sending: 1), end: .silence)
                }
                let isRefused = refused.withLock { refused in
                    defer { refused = false }
                    return refused
                }
                guard isRefused else { return DiskFixture.response(request) }
                return FakeTransport.Reply(503, fields: [("Retry-After", "5")])
            }
            // `Retry-After` applies to a whole host, so each download has its own.
            let urls = try ["a", "b"].map { try #require(URL(string: "http://\($0)/\($0)")) }
            let downloads = try await manager.download(urls.map { DownloadRequest($0, to: .directory(folder)) })
            for await progress in downloads[1].progress where progress.bytesReceived == 1 { break }
            clock.advance(by: .seconds(60))
            await #expect(throws: DownloadError.self) { try await downloads[1].value }
            #expect(DiskFixture.isExact(try await downloads[0].value))
            await manager.shutdown()
        }
    }

    @Test func `downloads from a host that refuses all of them have no more retries than one alone`() async throws {
        try await withTemporaryDirectory { folder in
            let requests = Locked(0)
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.maxConcurrentDownloads = 10
                        ($0.retryPolicy.baseDelay, $0.retryPolicy.maxFailures) = (.zero, 2)
                    },
                    transport: FakeTransport { _ in
                        requests.withLock { $0 += 1 }
                        return FakeTransport.Reply(503)
                    },
                    clock: AnyClock(TestClock())
                )
            )
            let downloads = try await manager.download(
                (0..<10).map { DownloadRequest(try #require(URL(string: "http://h/\($0)")), to: .directory(folder)) }
            )
            for download in downloads {
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.statusCode == 503)
            }
            #expect(requests.withLock(\.self) == 10 * 3)
            await manager.shutdown()
        }
    }

    @Test func `invalid limits are rejected`() async throws {
        let changes: [@Sendable (inout DownloadConfiguration) -> Void] = [
            { $0.minimumSpeed = 0 }, { $0.timeLimit = .zero }, { $0.maxFileSize = -1 },
        ]
        for change in changes {
            let error = await #expect(throws: DownloadError.self) {
                try await DownloadManager(configuration: .init { change(&$0) })
            }
            #expect(error?.code == .invalidRequest)
        }
    }
}
