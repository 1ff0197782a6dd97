import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads over an unreliable connection.
@Suite(.timeLimit(.minutes(4)))
struct LinkTests {
    private let file = ResumeFixture.old

    /// A slow link with high latency that breaks in each of three ways once, and then works.
    @Test func `L02 T09 a connection that is reset, closed and silent in turn is resumed`() async throws {
        let link = Link(latency: .milliseconds(5), bytesPerSecond: 4_000_000)
        let cuts: [Ending] = [.reset, .fin, .stall]
        let outcome = try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(file)) { server in
                try await withFaultProxy(to: server) { number in
                    number < cuts.count ? link.cut(after: 50_000, by: cuts[number]) : link
                } _: { proxy in
                    try await ResumeFixture.run(from: server, through: proxy, in: folder) {
                        $0.stallTimeout = .seconds(10)
                    }
                }
            }
        }
        #expect(outcome.isExact)
        // A reset may discard bytes in transit, so the first attempt may have received none.
        #expect((cuts.count - 1...cuts.count).contains(outcome.resumes.count))
        #expect(outcome.resumes == outcome.resumes.sorted())
        #expect(outcome.restarts.isEmpty)
        #expect(outcome.requests.count == cuts.count + 1)
    }

    #if os(Linux)
    @Test func `T12 a connection without a response ends with the connect timeout`() async throws {
        try await withTemporaryDirectory { folder in
            try await withSilentPort { url in
                let configuration = DownloadConfiguration {
                    $0.connectTimeout = .milliseconds(300)
                    $0.retryPolicy.maxFailures = 1
                    $0.retryPolicy.baseDelay = .zero
                }
                try await withDownloadManager(configuration) { manager in
                    let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
                    let error = await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(error?.code == .connection)
                    #expect(error?.message.contains("was made within 0.3 s") == true)
                    var retries = 0
                    for await case .retrying in download.events { retries += 1 }
                    #expect(retries == 1)
                }
                #expect(try FileProbe.names(in: folder) == [])
            }
        }
    }
    #endif
}

/// TLS downloads with invalid certificates or without close_notify.
@Suite(.timeLimit(.minutes(4)), .enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
struct TLSTests {
    private let file = ResumeFixture.old

    private func run(
        _ response: Response,
        presenting certificate: TestCertificate = .trusted,
        trustsAuthority: Bool = true,
        link: @escaping @Sendable (Int) -> Link = { _ in Link() }
    ) async throws -> (outcome: ResumeOutcome, connections: Int) {
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            let files = folder.appending(path: "files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
            return try await withFaultServer(response) { server in
                try await withFaultProxy(to: server, presenting: certificate, link: link) { proxy in
                    let outcome = try await ResumeFixture.run(from: server, through: proxy, in: files) {
                        if trustsAuthority { $0.certificateAuthorities = authority }
                    }
                    return (outcome, proxy.connectionCount)
                }
            }
        }
    }

    @Test func `a certificate of a trusted authority is accepted`() async throws {
        let (outcome, connections) = try await run(.file(file))
        #expect(outcome.isExact)
        #expect(connections == 1)
    }

    @Test(arguments: [
        (TestCertificate.expired, true), (.wrongHost, true), (.selfSigned, true), (.trusted, false),
    ])
    func `S11 an invalid certificate is a TLS error without retries`(
        _ certificate: TestCertificate,
        _ trustsAuthority: Bool
    ) async throws {
        let (outcome, connections) = try await run(
            .file(file),
            presenting: certificate,
            trustsAuthority: trustsAuthority
        )
        #expect(outcome.error?.code == .tls)
        #expect(connections == 1)
        #expect(outcome.requests == [])
        #expect(outcome.names == [])
    }

    @Test(arguments: ["HTTP/2", "HTTP/3"])
    func `an unexpected HTTP version in the status line does not hide a truncated TLS stream`(
        _ version: String
    ) async throws {
        let cut = Response.file(file).closeDelimited.truncated(after: ResumeFixture.cut).claimingVersion(version)
        let (outcome, _) = try await run(cut, link: { _ in Link(saysGoodbye: false) })
        #expect(outcome.error?.code == .protocolViolation)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
    }

    @Test func `L11 a TLS connection closed without close_notify does not end a body`() async throws {
        let isUnannounced: @Sendable (Int) -> Link = { Link(saysGoodbye: $0 > 0) }
        // If the connection ended in order, these bytes would be the complete file.
        let cut = Response.file(file).closeDelimited.truncated(after: ResumeFixture.cut)
        let (short, _) = try await run(.sequence([cut], then: .file(file)), link: isUnannounced)
        let (whole, _) = try await run(.file(file).closeDelimited, link: isUnannounced)
        #expect(short.isExact)
        #expect(short.resumes == [ResumeFixture.cut])
        #expect(whole.requests.count > 1)
        #expect(whole.isExact)
    }

    @Test func `L10 L11 a close_notify ends a body, and a body with a length needs none`() async throws {
        let (announced, _) = try await run(.file(file).closeDelimited)
        #expect(announced.isExact)
        #expect(announced.requests.count == 1)
        let (counted, _) = try await run(.file(file)) { _ in Link(saysGoodbye: false) }
        #expect(counted.isExact)
        #expect(counted.requests.count == 1)
    }

    @Test func `D09 a redirect from https to http is not followed`() async throws {
        try await withFaultServer(.ok("secret")) { other in
            let target = other.url("/").absoluteString
            let (outcome, _) = try await run(.redirect(to: target))
            #expect(outcome.error?.code == .redirect)
            #expect(other.requests == [])
        }
    }
}
