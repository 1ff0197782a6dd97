import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The framing of bodies, and how a download treats invalid ends.
@Suite(.timeLimit(.minutes(4)))
struct FramingTests {
    private typealias Fixture = ResumeFixture
    private let file = ResumeFixture.old

    private func run(_ first: Response..., then last: Response, retries: Int = 3) async throws -> ResumeOutcome {
        try await withTemporaryDirectory {
            try await Fixture.run(.sequence(first, then: last), in: $0, retries: retries)
        }
    }

    @Test(arguments: [Ending.fin, .reset])
    func `L01 L02 L03 a short body is resumed, even if one byte is missing`(_ ending: Ending) async throws {
        for cut in [Fixture.cut, Fixture.size - 1] {
            let outcome = try await run(.file(file).truncated(after: cut, by: ending), then: .file(file))
            #expect(outcome.isExact)
            #expect(outcome.resumes == [cut])
        }
    }

    @Test func `L04 surplus bytes are ignored`() async throws {
        let outcome = try await run(then: .file(file).extraBytes(1000))
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 1)
    }

    /// Regression: surplus bytes on a reused connection were taken for the next response, and that download failed.
    @Test func `L04 surplus bytes do not fail the next download`() async throws {
        try await withFaultServer(.file(file).extraBytes(1000)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(.init { $0.retryPolicy.baseDelay = .zero }) { manager in
                    for name in 0..<20 {
                        let request = DownloadRequest(server.url("/\(name)"), to: .directory(folder))
                        let result = try await manager.download(request).value
                        #expect(file.body.difference(fromFileAt: result) == nil)
                    }
                }
            }
        }
    }

    @Test func `L05 a contradictory length is rejected at once`() async throws {
        let outcome = try await run(then: .file(file).header("Content-Length", "5"))
        #expect(outcome.error?.code == .protocolViolation)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
    }

    @Test func `L06 L07 a repeated length is accepted, and chunked framing overrides a length`() async throws {
        let size = ResumeFixture.size
        #expect(try await run(then: .file(file).claimingLength("\(size), \(size)")).isExact)
        #expect(try await run(then: .file(file).chunked([1000]).header("Content-Length", "7")).isExact)
    }

    @Test func `L08 a chunked body without its last chunk is resumed or requested again`() async throws {
        let outcome = try await run(.file(file).chunked(hasLastChunk: false), then: .file(file))
        #expect(outcome.error == nil)
        #expect(outcome.difference == nil)
        #expect(outcome.requests.count <= 3)
    }

    @Test(arguments: ["xyz", "fffffffffffffffff", "-5"])
    func `L09 an invalid chunk size leaves no file`(_ line: String) async throws {
        let outcome = try await run(then: .file(file).chunked([1000], sizeLine: line), retries: 0)
        #expect(outcome.error != nil)
        #expect(!outcome.names.contains("file.bin"))
        // Regression: the invalid chunk size ended the download without a retry.
        let next = try await run(.file(file).chunked([1000], sizeLine: line), then: .file(file))
        #expect(next.error == nil)
        #expect(next.difference == nil)
    }

    @Test func `L10 L12 the length of a body ended by the connection is not verified`() async throws {
        for (response, isVerified) in [
            (Response.file(file).closeDelimited, false), (.file(file).http10, true), (.file(file), true),
        ] {
            let outcome = try await run(then: response)
            #expect(outcome.isExact)
            guard case .finished(let summary) = outcome.events.last else {
                Issue.record("\(outcome.events)")
                continue
            }
            #expect(summary.isLengthVerified == isVerified)
        }
    }

    @Test func `a checksum verifies the length of a body ended by the connection`() async throws {
        let checksum = try Checksum(of: file.body)
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(.file(file).closeDelimited, in: folder, change: { $0.checksums = [checksum] })
        }
        #expect(outcome.isExact)
        guard case .finished(let summary) = outcome.events.last else {
            Issue.record("\(outcome.events)")
            return
        }
        #expect(summary.isLengthVerified)
    }

    @Test func `a checksum reveals that a connection ended too early, and the rest is requested`() async throws {
        let checksum = try Checksum(of: file.body)
        let response = Response.sequence(
            [.file(file).closeDelimited.truncated(after: Fixture.cut)],
            then: .file(file).closeDelimited
        )
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(response, in: folder, change: { $0.checksums = [checksum] })
        }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(Fixture.cut)-"])
        guard case .finished(let summary) = outcome.events.last else { return }
        #expect(summary.isLengthVerified)
        // The server confirms the end of the wrong file, which is then requested once more.
        let wrong = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .file(Fixture.new).closeDelimited,
                in: folder,
                change: { $0.checksums = [checksum] }
            )
        }
        #expect(wrong.error?.code == .checksum)
        #expect(wrong.requests.map(\.bodyBytesSent) == [Fixture.size, 0, Fixture.size])
    }

    @Test func `without retries, a wrong file whose end the connection marks fails with its checksum`() async throws {
        let checksum = try Checksum(of: file.body)
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .file(Fixture.new).closeDelimited,
                in: folder,
                retries: 0,
                change: { $0.checksums = [checksum] }
            )
        }
        #expect(outcome.error?.code == .checksum && outcome.requests.count == 1)
        #expect(outcome.error?.savedFile != nil)
    }

    @Test func `an HTTP version that was not negotiated is rejected, even on a reused connection`()
        async throws
    {
        for first in [
            Response.file(file).claimingVersion("HTTP/2"), .file(file).closeDelimited.claimingVersion("HTTP/2"),
        ] {
            let outcome = try await withTemporaryDirectory {
                try await Fixture.run(.sequence([.status(503), first], then: .file(file)), in: $0)
            }
            #expect(outcome.error?.code == .protocolViolation)
            #expect(outcome.requests.count == 2)
            #expect(outcome.names == [])
        }
    }

    @Test func `L13 an empty file is downloaded`() async throws {
        let empty = Resource(size: 0)
        for response in [Response.file(empty), .file(empty).chunked()] {
            let outcome = try await withTemporaryDirectory {
                try await Fixture.run(response, in: $0, expecting: empty)
            }
            #expect(outcome.isExact)
        }
    }

    @Test func `L15 interim responses without a final one are retried`() async throws {
        let interim = Response.raw("HTTP/1.1 100 Continue\r\n\r\n")
        #expect(try await run(interim, .file(file).interim(103, count: 50), then: .file(file)).isExact)
    }

    @Test func `L16 L17 a length larger than the free space is rejected before the first byte`() async throws {
        let outcome = try await run(then: .ok("hello").claimingLength("9223372036854775807"))
        #expect(outcome.error?.code == .diskFull)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
    }

    @Test func `L21 a connection that ends without a response is retried`() async throws {
        let outcome = try await run(.nothing(by: .fin), .nothing(by: .reset), then: .file(file))
        #expect(outcome.isExact)
        #expect(outcome.requests.count >= 3)
    }

    @Test func `E01 every request asks for identity encoding`() async throws {
        let outcome = try await run(.file(file).truncated(after: Fixture.cut), then: .file(file))
        #expect(outcome.requests.map { $0["Accept-Encoding"] } == ["identity", "identity"])
    }

    @Test(arguments: ["gzip", "x-unknown", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func `E02 E06 E07 bytes in an unrequested coding are saved as sent`(_ coding: String) async throws {
        let coded = Response.file(file).header("Content-Encoding", coding)
        let outcome = try await run(coded.truncated(after: Fixture.cut), then: coded)
        #expect(outcome.isExact)
        #expect(outcome.events.count { $0 == .notice(.encoded(coding: coding)) } == 1)
    }

    @Test func `E04 encoded bytes with the decoded length are not a success`() async throws {
        let short = Response.file(file).header("Content-Encoding", "gzip")
            .claimingLength("\(ResumeFixture.size + 1000)").ending(by: .fin)
        let outcome = try await run(then: short, retries: 2)
        #expect(outcome.error?.code == .connectionLost || outcome.error?.code == .resourceChanged)
        #expect(!outcome.names.contains("file.bin"))
        #expect(outcome.requests.count <= 5)
    }

    @Test func `E08 an unrequested transfer coding is rejected`() async throws {
        let response = Response.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
        let outcome = try await run(then: response)
        #expect(outcome.error?.code == .protocolViolation)
        #expect(outcome.requests.count == 1)
    }

    @Test func `Z04 chunks of one byte are accepted`() async throws {
        let small = Resource(size: 20_000)
        let outcome = try await withTemporaryDirectory {
            try await Fixture.run(.file(small).chunked([1]), in: $0, expecting: small)
        }
        #expect(outcome.isExact)
    }
}
