import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// One file over several connections, from servers that behave more or less correctly.
@Suite(.timeLimit(.minutes(4)))
struct SegmentedDownloadTests {
    private typealias Fixture = SegmentFixture

    @Test func `several connections deliver the exact file with few duplicate bytes`() async throws {
        let outcome = try await Fixture.run(Fixture.first(untilRequests: 4))
        #expect(outcome.isExact)
        #expect(outcome.requests.count >= 4)
        #expect(outcome.ranges.first == .some(nil))
        #expect(!outcome.ranges.dropFirst().contains(nil))
        #expect(Set(outcome.ifRanges.dropFirst()) == ["\"v1\""])
        // At most one or two pieces at the end of each connection's part are downloaded twice.
        let most = Fixture.size + Int64(outcome.requests.count) << 19
        #expect(outcome.bytesFetched ?? .max <= most)
        #expect(outcome.fallbacks.isEmpty)
    }

    @Test func `parallel requests use separate connections`() async throws {
        let gate = try Gate()
        let response = Response.answering { request in
            if request.index == 3 { gate.open() }
            // No connection becomes free before all four requests have arrived.
            return .file(Fixture.file).held(after: request.index == 0 ? Fixture.size / 8 : 1000, until: gate)
        }
        let outcome = try await Fixture.run(response)
        #expect(Set(outcome.requests.prefix(4).map(\.connection)).count == 4)
    }

    @Test func `a valid date validates parts like an entity tag`() async throws {
        var file = Fixture.file
        file.etag = nil
        let response = try Fixture.first(untilRequests: 2, of: file, then: .file(file))
        let outcome = try await Fixture.run(response, expecting: file)
        #expect(outcome.isExact)
        #expect(Set(outcome.ifRanges.dropFirst()) == [file.lastModified])
    }

    @Test func `a fast small file takes one request in automatic mode`() async throws {
        let outcome = try await Fixture.run(.file(Fixture.file), connections: nil)
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 1)
    }

    @Test(arguments: ["no ranges", "ranges not offered", "weak tag", "no validator", "coded", "small", "one"])
    func `one connection is used if several are not possible`(_ why: String) async throws {
        var file = Fixture.file
        var connections = 8
        switch why {
        case "no ranges": file.acceptRanges = "none"
        case "ranges not offered": file.acceptRanges = nil
        case "weak tag": file.etag = "W/\"v1\""
        case "no validator": (file.etag, file.lastModified) = (nil, nil)
        case "small": file = Resource(size: 2 << 20 - 1)
        case "one": connections = 1
        default: break
        }
        var response = Response.file(file)
        if why == "coded" { response = response.settingHeader("Content-Encoding", "gzip") }
        let outcome = try await Fixture.run(response, connections: connections, expecting: file)
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 1)
        #expect(outcome.opened.isEmpty)
    }

    @Test func `a file of unknown length uses one connection`() async throws {
        let outcome = try await Fixture.run(.file(Fixture.file).chunked())
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 1)
    }

    @Test func `R28 slow connections give up their remaining range to the others`() async throws {
        let slow = Response.answering { request in
            .file(Fixture.file).limited(bytesPerSecond: request.index % 3 == 2 ? 64 << 10 : 4 << 20)
        }
        let outcome = try await Fixture.run(slow, connections: 6)
        #expect(outcome.isExact)
    }

    @Test(arguments: [0, 1, 2])
    func `R28 a silent connection does not delay the download`(_ silent: Int) async throws {
        let response = Response.answering { request in
            request.index == silent ? Fixture.paced.stalled(after: 300_000) : Fixture.paced
        }
        let outcome = try await Fixture.run(response)
        #expect(outcome.isExact)
    }

    @Test(arguments: [Ending.fin, .reset])
    func `R28 cut connections are replaced`(_ ending: Ending) async throws {
        let response = Response.answering { request in
            request.index < 4 ? Fixture.paced.truncated(after: 400_000, by: ending) : Fixture.paced
        }
        // If the last connection is cut before the others are open, the download retries.
        let outcome = try await Fixture.run(response)
        #expect(outcome.isExact)
        #expect(outcome.requests.count > 4)
    }

    @Test(arguments: ["503", "429", "reset", "close"])
    func `R29 a server that allows two connections is not sent many more requests`(_ how: String) async throws {
        let refusal: Response =
            switch how {
            case "503": .status(503)
            case "429": .status(429, headers: ["Retry-After": "1"])
            case "reset": .nothing(by: .reset)
            default: .nothing(by: .fin)
            }
        let gate = try Gate()
        let response = Response.answering { $0.concurrentRequests > 2 ? refusal : Fixture.paced }
        let outcome = try await Fixture.run(
            Fixture.first(until: gate, then: response),
            connections: 8,
            retries: 0
        ) { event in
            if case .connectionClosed = event { gate.open() }
        }
        #expect(outcome.isExact)
        #expect(!outcome.losses.isEmpty)
        #expect(outcome.requests.count < 28)
    }

    @Test func `after a redirect the other connections use the final URL`() async throws {
        let response = Response.routes(["/file.bin": .redirect(to: "/far/file.bin"), "/far/file.bin": Fixture.paced])
        let outcome = try await Fixture.run(response)
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path).dropFirst().contains("/file.bin") == false)
    }

    @Test func `a cancelled download leaves no connection and no file`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(Fixture.paced.stalled(after: 200_000)) { server in
                try await withDownloadManager(.init { $0.maxConnectionsPerDownload = 4 }) { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    )
                    try await server.waitForRequests(count: 4)
                    await download.cancel()
                    try await server.waitUntil { $0.openConnections == 0 }
                }
            }
            #expect(try FileProbe.names(in: folder).isEmpty)
        }
    }
}
