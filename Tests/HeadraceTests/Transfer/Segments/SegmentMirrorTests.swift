import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// One file over several connections to several sources.
@Suite(.timeLimit(.minutes(4)))
struct SegmentMirrorTests {
    private typealias Fixture = SegmentFixture

    /// Downloads `/a`, with `/b` and the other paths as mirrors.
    private func run(
        _ routes: [String: Response],
        connections: Int = 4,
        expecting expected: Resource = Fixture.file,
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await ResumeFixture.run(withMirrors: routes, expecting: expected, change: change) {
            $0.maxConnectionsPerDownload = connections
        }
    }

    /// A source and its mirror; the source does not send everything before the mirror is requested.
    private func pair(_ mirror: Response) throws -> (first: Response, mirror: Response) {
        let gate = try Gate()
        let second = Response.answering { _ in
            gate.open()
            return mirror
        }
        let first = Response.answering {
            $0.index == 0 ? Fixture.paced.held(after: Fixture.size / 8, until: gate) : Fixture.paced
        }
        return (first, second)
    }

    private func notUsed(_ outcome: ResumeOutcome) -> [String] {
        outcome.events.compactMap { if case .notice(let notice) = $0 { notice.description } else { nil } }
    }

    @Test func `mirrors deliver parts of one file in parallel`() async throws {
        // Hold the first response until the mirrors are requested.
        let gate = try Gate()
        let requested = Locked(Set<String>())
        let response = Response.answering { request in
            if requested.withLock({
                $0.insert(request.path)
                return $0.count
            }) == 3 {
                gate.open()
            }
            return request.index == 0 ? .file(Fixture.file).held(after: Fixture.size / 8, until: gate) : Fixture.paced
        }
        let outcome = try await run(["/a": response, "/b": response, "/c": response])
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(Set(outcome.requests.map(\.path)) == ["/a", "/b", "/c"])
        #expect(!outcome.ranges.dropFirst().contains(nil))
        #expect(Set(outcome.ifRanges.dropFirst()) == ["\"v1\""])
        let sources = outcome.events.compactMap {
            if case .connectionOpened(_, let url, _) = $0 { url.path() } else { nil }
        }
        #expect(Set(sources).isSuperset(of: ["/b", "/c"]))
        #expect(outcome.fallbacks.isEmpty)
    }

    @Test(arguments: ["another file", "404", "503", "cut", "silent", "no ranges", "redirected"])
    func `no bytes of a mirror with another file or none are used`(_ why: String) async throws {
        let mirror: Response =
            switch why {
            case "another file": .file(Fixture.other)
            case "404": .status(404)
            case "503": .status(503, headers: ["Retry-After": "60"])
            case "cut": .nothing(by: .reset)
            case "silent": Fixture.paced.stalled(after: 0)
            case "no ranges": .ok("<html>Log in</html>")
            default: .redirect(to: "/login")
            }
        let (first, second) = try pair(mirror)
        let outcome = try await run(["/a": first, "/b": second, "/login": .ok("<html>Log in</html>")]) {
            $0.mirrors = Array($0.mirrors.prefix(1))
        }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.restarts.isEmpty)
        #expect(outcome.requests.contains { $0.path == "/b" })
    }

    @Test(arguments: ["another file", "404", "500", "reset"])
    func `a failing mirror is dropped after one request, and the first source gets all connections`(
        _ why: String
    ) async throws {
        let mirror: Response =
            switch why {
            case "another file": .file(Fixture.other)
            case "404": .status(404)
            case "500": .status(500)
            default: .nothing(by: .reset)
            }
        // Hold all bytes until the first source has received as many requests as connections are allowed.
        let gate = try Gate()
        let count = Locked(0)
        let first = Response.answering { _ in
            if count.withLock({
                $0 += 1
                return $0
            }) == 4 {
                gate.open()
            }
            return .file(Fixture.file).held(after: 1, until: gate)
        }
        let outcome = try await run(["/a": first, "/b": mirror]) { $0.mirrors = Array($0.mirrors.prefix(1)) }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.count { $0.path == "/b" } == 1)
        let dropped = outcome.events.compactMap { event -> [String?]? in
            if case .sourceFailed(let error, let next) = event { [error.url?.path(), next.path()] } else { nil }
        }
        #expect(dropped == [["/b", "/a"]])
    }

    @Test(arguments: [Ending.fin, .reset])
    func `if the first source fails, the mirrors deliver the rest`(_ ending: Ending) async throws {
        let first = Response.sequence([Fixture.paced.truncated(after: 1 << 20, by: ending)], then: .nothing(by: .reset))
        let outcome = try await run(["/a": first, "/b": Fixture.paced])
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.restarts.isEmpty)
    }

    /// Runs a manager whose connections are fake: of the hosts `a` and `b`, the second has the mirror.
    private func withManager(
        _ transport: FakeTransport,
        _ change: (inout DownloadConfiguration) -> Void,
        _ body: (DownloadManager, inout DownloadRequest) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let configuration = DownloadConfiguration {
                $0.retryPolicy.baseDelay = .zero
                change(&$0)
            }
            let environment = TransferEnvironment(
                configuration: configuration,
                transport: transport,
                clock: AnyClock(TestClock())
            )
            let manager = try await DownloadManager(environment: environment)
            var request = try DiskFixture.request(to: .directory(folder))
            request.url = try #require(URL(string: "http://a/file.bin"))
            request.mirrors = [try #require(URL(string: "http://b/file.bin"))]
            try await body(manager, &request)
            await manager.shutdown()
        }
    }

    @Test func `a source that always loses its only connection is retried, and then the mirror is used`() async throws {
        let transport = FakeTransport {
            DiskFixture.response($0, sending: $0.url.host() == "a" ? 40_000 : .max, of: 2_200_000)
        }
        let change = { (configuration: inout DownloadConfiguration) in configuration.retryPolicy.maxTotalFailures = 2 }
        try await withManager(transport, change) { manager, request in
            _ = try await manager.download(request).value
        }
        #expect(transport.requests.map { $0.url.host() } == ["a", "a", "a", "b"])
    }

    @Test func `a mirror without the file does not keep other downloads from its host`() async throws {
        let transport = FakeTransport {
            guard $0.url.host() == "a" else {
                return $0.url.path() == "/file.bin" ? FakeTransport.Reply(404) : FakeTransport.Reply(body: [1])
            }
            return FakeTransport.Reply(DiskFixture.response($0, sending: 60_000, of: 2_200_000), end: .silence)
        }
        let change = { (configuration: inout DownloadConfiguration) in
            configuration.maxConnectionsPerDownload = 2
            configuration.maxConnectionsPerHost = 1
        }
        try await withManager(transport, change) { manager, request in
            for await event in try await manager.download(request).events {
                if case .sourceFailed = event { break }
            }
            request.url = try #require(URL(string: "http://b/other.bin"))
            request.mirrors = []
            _ = try await manager.download(request).value
        }
    }

    @Test func `a source without an entity tag is not combined with mirrors`() async throws {
        var file = Fixture.file
        file.etag = nil
        let dated = Response.file(file).limited(bytesPerSecond: 4 << 20)
        let outcome = try await run(["/a": dated, "/b": dated], expecting: file)
        #expect(outcome.isExact)
        #expect(Set(outcome.requests.map(\.path)) == ["/a"])
    }

    @Test func `with a checksum, mirrors with other tags deliver parts`() async throws {
        var twin = Fixture.file
        twin.etag = "W/\"other\""
        twin.lastModified = nil
        let checksum = try Checksum(of: Fixture.file.body)
        let (first, second) = try pair(.file(twin).limited(bytesPerSecond: 2 << 20))
        let outcome = try await run(["/a": first, "/b": second]) { $0.checksums = [checksum] }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.contains { $0.path == "/b" })
        #expect(outcome.restarts.isEmpty)
        #expect(notUsed(outcome).isEmpty)
    }

    @Test func `with a checksum, a source that continues with another tag delivers parts`() async throws {
        var twin = Fixture.file
        twin.etag = "\"other\""
        let checksum = try Checksum(of: Fixture.file.body)
        // The first source sends one stream without range support, and is cut.
        let first = Response.file(Fixture.file).withoutHeader("Accept-Ranges").truncated(after: 1 << 20)
        let second = Response.file(twin).limited(bytesPerSecond: 2 << 20)
        let outcome = try await run(["/a": .sequence([first], then: .status(404)), "/b": second]) {
            $0.checksums = [checksum]
        }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.opened.count >= 3)
        #expect(outcome.fallbacks.isEmpty, "\(outcome.fallbacks)")
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `with a checksum, a mirror with another file causes a restart but never a wrong file`() async throws {
        let checksum = try Checksum(of: Fixture.file.body)
        let (first, wrong) = try pair(.file(Fixture.other).limited(bytesPerSecond: 2 << 20))
        let outcome = try await run(["/a": first, "/b": wrong]) { $0.checksums = [checksum] }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.restarts.count == 1)
        #expect(outcome.ranges.last == .some(nil))
    }

    @Test func `parts of mirrors verified only by a checksum are never renamed without it`() async throws {
        let isHonest = Locked(false)
        let gate = try Gate()
        let response = Response.answering { request in
            guard !isHonest.withLock({ $0 }) else { return .file(Fixture.file) }
            guard request.path == "/b" else {
                let first = Response.file(Fixture.file).held(after: Fixture.size / 8, until: gate)
                return request.index == 0 ? first.truncated(after: Fixture.size / 8 + 1) : .status(404)
            }
            gate.open()
            return request.attempt == 0 ? .file(Fixture.other).truncated(after: 100_000) : .status(404)
        }
        let checksum = try Checksum(of: Fixture.file.body)
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                let first = try await ResumeFixture.run(
                    from: server,
                    in: folder,
                    expecting: Fixture.file,
                    retries: 0,
                    configure: { $0.maxConnectionsPerDownload = 4 },
                    change: {
                        $0.checksums = [checksum]
                        $0.mirrors = [server.url("/b")]
                    }
                )
                #expect(first.error != nil)
                #expect(first.requests.contains { $0.path == "/b" })
                isHonest.withLock { $0 = true }
                let second = try await ResumeFixture.run(from: server, in: folder, expecting: Fixture.file)
                #expect(second.isExact)
                #expect(second.restarts.map(\.reason) == [.unverified])
            }
        }
    }

    @Test func `with a checksum, the right source is not blamed for parts of others`() async throws {
        let checksum = try Checksum(of: Fixture.file.body)
        let wrong = Response.file(Fixture.other).limited(bytesPerSecond: 6 << 20)
        let right = Response.file(Fixture.file).limited(bytesPerSecond: 6 << 20)
        let outcome = try await run(["/a": wrong, "/b": right, "/c": wrong]) { $0.checksums = [checksum] }
        #expect(outcome.isExact, "\(outcome.events)")
    }

    @Test func `of two sources with one tag, the checksum finds the right one`() async throws {
        let checksum = try Checksum(of: Fixture.file.body)
        var wrong = Fixture.other
        wrong.etag = Fixture.file.etag
        let routes = ["/a": Fixture.file, "/b": wrong].mapValues { Response.file($0).limited(bytesPerSecond: 6 << 20) }
        let outcome = try await run(routes) { $0.checksums = [checksum] }
        #expect(outcome.isExact, "\(outcome.events)")
    }

    @Test func `with one connection, one source is requested`() async throws {
        let whole = Response.file(Fixture.file)
        let outcome = try await run(["/a": whole, "/b": whole], connections: 1)
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/a"])
    }

    @Test func `D06 a secret field is not sent to a mirror that delivers parts`() async throws {
        let (first, second) = try pair(Fixture.paced)
        try await withFaultServer(second) { mirror in
            let outcome = try await run(["/a": first]) {
                $0.mirrors = [mirror.url("/m")]
                $0.headers = [HeaderField(name: "X-Key", value: "k", isSecret: true)]
            }
            #expect(outcome.isExact)
            #expect(!mirror.requests.isEmpty)
            #expect(mirror.requests.allSatisfy { $0["X-Key"] == nil })
        }
    }
}
