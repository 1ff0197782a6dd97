import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Many downloads from an HTTP/2 server, whose small bodies share connections.
@Suite(.timeLimit(.minutes(4)), .enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"))
struct SharedConnectionTests {
    private struct Outcome {
        var failures: [DownloadError] = []
        var wrongFiles: [String] = []
        var requests: [RecordedRequest] = []
        var maxOpenConnections = 0

        var connections: Int { Set(requests.map(\.connection)).count }
    }

    private static let small = Resource(size: 40_000)
    /// Larger than a body that may share a connection.
    private static let large = Resource(size: 300_000)

    private static func resource(_ path: String) -> Resource { path.hasPrefix("/large") ? large : small }

    /// Downloads `count` small files and `large` large ones with an automatic limit and without retries.
    ///
    /// `onAdded` is called with the downloads at once, and `onSmall` with the requests so far when the small files are
    /// complete.
    private static func run(
        _ count: Int = 60,
        large: Int = 0,
        maxConnections: Int = 16,
        settings: [(identifier: UInt16, value: UInt32)] = [],
        script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step]? = { _ in nil },
        change: (inout DownloadRequest) -> Void = { _ in },
        onAdded: ([Download]) async -> Void = { _ in },
        onSmall: ([RecordedRequest]) -> Void = { _ in }
    ) async throws -> Outcome {
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            let files = folder.appending(path: "files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
            let respond: @Sendable (RecordedRequest) -> [HTTP2Step] = { request in
                script(request) ?? HTTP2Step.file(resource(request.target), for: request)
            }
            return try await withHTTP2Server(settings: settings, script: respond) { server in
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = .automatic
                    $0.maxConnectionsPerHost = maxConnections
                    $0.certificateAuthorities = authority
                    $0.retryPolicy.maxFailures = 0
                    $0.durability = .none
                }
                return try await withDownloadManager(configuration) { manager in
                    let names = (0..<large).map { "large\($0)" } + (0..<count).map { "small\($0)" }
                    let downloads = try await manager.download(
                        names.map { name in
                            var request = DownloadRequest(server.url("/\(name)"), to: .directory(files))
                            change(&request)
                            return request
                        }
                    )
                    await onAdded(downloads)
                    for download in downloads.dropFirst(large) { _ = try? await download.value }
                    onSmall(server.requests)
                    var outcome = Outcome()
                    for (name, download) in zip(names, downloads) {
                        do {
                            let file = try await download.value
                            let body = resource("/\(name)").body
                            if body.difference(fromFileAt: file) != nil { outcome.wrongFiles.append(name) }
                        } catch let error as DownloadError {
                            outcome.failures.append(error)
                        }
                    }
                    outcome.requests = server.requests
                    outcome.maxOpenConnections = server.maxOpenConnections
                    return outcome
                }
            }
        }
    }

    @Test func `small files share several connections`() async throws {
        let outcome = try await Self.run()
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome)")
        #expect((2...16).contains(outcome.connections), "\(outcome.connections) connections")
        #expect(outcome.requests.count == 60)
    }

    @Test func `D11 a request for public addresses does not join a shared connection`() async throws {
        let outcome = try await Self.run(change: { $0.requiresPublicAddress = $0.url.lastPathComponent == "small59" })
        #expect(outcome.failures.map(\.code) == [.addressRefused])
        #expect(outcome.requests.count == 59)
    }

    @Test func `C02 shared connections do not exceed the limit for a host`() async throws {
        let outcome = try await Self.run(maxConnections: 2)
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome)")
        #expect(outcome.connections <= 2, "\(outcome.connections) connections")
    }

    @Test func `C02 files that are too large to share wait for connections of their own`() async throws {
        let gate = try Gate()
        var repeated: [String] = []
        let outcome = try await Self.run(large: 4, maxConnections: 2) { request in
            guard request.target.hasPrefix("/large"), request.attempt > 0 else { return nil }
            var steps = HTTP2Step.file(Self.large, for: request)
            steps.insert(.wait(gate), at: 1)
            return steps
        } onSmall: { requests in
            repeated = requests.filter { $0.attempt > 0 }.map(\.target)
            gate.open()
        }
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome)")
        #expect(repeated.count == 2, "\(repeated)")
        #expect(outcome.requests.count == 60 + 2 * 4)
    }

    @Test(arguments: [UInt32(1), 2]) func `the server's limit on streams is respected`(_ streams: UInt32) async throws {
        // SETTINGS_MAX_CONCURRENT_STREAMS
        let outcome = try await Self.run(settings: [(3, streams)])
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome)")
        #expect(outcome.connections <= 16, "\(outcome.connections) connections")
    }

    @Test(arguments: [HTTP2Step.Code.refusedStream, .enhanceYourCalm, .internalError])
    func `a refused stream is sent again without spending a retry`(_ code: HTTP2Step.Code) async throws {
        let outcome = try await Self.run { request in
            request.attempt == 0 && request.index % 5 == 1 ? [.reset(code)] : nil
        }
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
    }

    @Test func `GOAWAY before the response does not spend a retry`() async throws {
        let outcome = try await Self.run { request in
            guard request.attempt == 0, request.index % 7 == 3 else { return nil }
            return [.goAway(.noError, isProcessed: false), .close()]
        }
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
    }

    @Test func `C02 requests that are reset on shared connections wait for connections of their own`() async throws {
        let gate = try Gate()
        let outcome = try await Self.run(maxConnections: 2) { request in
            // The first responses show that the server shares connections. Then it holds all requests on them.
            request.connection < 2 && request.index >= 10 ? [.wait(gate), .reset(.internalError)] : nil
        } onAdded: { downloads in
            for download in downloads { for await state in download.states where state != .waiting { break } }
            gate.open()
        }
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
        // Two shared connections and two of their own; on a busy machine, also two that are just being closed.
        #expect(outcome.maxOpenConnections <= 6, "\(outcome.maxOpenConnections) connections")
    }

    @Test func `a stream that is always refused fails`() async throws {
        let outcome = try await Self.run(20) { request in
            request.target == "/small3" ? [.reset(.refusedStream)] : nil
        }
        #expect(outcome.failures.count == 1 && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
        // libcurl itself sends a refused request up to six times: on a shared connection and on two of its own.
        #expect(outcome.requests.count { $0.target == "/small3" } <= 18)
    }

    /// Regression: idle connections were then not used again, and none were shared for two minutes.
    @Test func `a reset stream costs the other requests no connections`() async throws {
        let outcome = try await Self.run(120) { request in
            request.target == "/small3" ? [.reset(.internalError)] : nil
        }
        #expect(outcome.failures.count == 1 && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
        // The shared ones, and those on which the request that is reset is repeated.
        #expect(outcome.connections <= 20, "\(outcome.connections) connections")
    }

    @Test func `large files move to connections of their own`() async throws {
        let outcome = try await Self.run(40, large: 3)
        #expect(outcome.failures.isEmpty && outcome.wrongFiles.isEmpty, "\(outcome.failures)")
        // The last complete request for a large file is on a connection without small files.
        let small = Set(outcome.requests.filter { $0.target.hasPrefix("/small") }.map(\.connection))
        for index in 0..<3 {
            let requests = outcome.requests.filter { $0.target == "/large\(index)" && $0["Range"] == nil }
            #expect(requests.last.map { !small.contains($0.connection) } == true, "\(requests)")
        }
    }

    @Test func `a request without a free stream on a shared connection gets a connection of its own`() async throws {
        let gate = try Gate()
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let body = Resource(size: 1000)
        let script: @Sendable (RecordedRequest) -> [HTTP2Step] = { request in
            guard request.target == "/held" else { return HTTP2Step.file(body, for: request) }
            arrival.yield()
            return [.wait(gate)] + HTTP2Step.file(body, for: request)
        }
        // SETTINGS_MAX_CONCURRENT_STREAMS
        let one: [(identifier: UInt16, value: UInt32)] = [(3, 1)]
        try await HTTP2Fixture.withTransport(settings: one, maxConnections: 1, script: script) { server, transport in
            @Sendable func needsOwnConnection(_ path: String) async throws -> Bool {
                var request = TransportRequest(url: server.url(path), connectTimeout: .seconds(1))
                request.mayShareConnection = true
                return try await transport.perform(request) { head, body in
                    while let chunk = try await body.next() { body.recycle(chunk) }
                    return head.needsOwnConnection
                }
            }
            let first = try await needsOwnConnection("/first")
            async let held = needsOwnConnection("/held")
            for await _ in arrivals { break }
            let queued = try await needsOwnConnection("/queued")
            gate.open()
            #expect(try await [first, held, queued] == [false, false, true])
            #expect(server.requests.map(\.target) == ["/first", "/held"])
        }
    }
}
