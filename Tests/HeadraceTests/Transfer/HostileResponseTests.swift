import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Invalid or truncated responses: the right error, no file under the final name, no hang.
@Suite(.timeLimit(.minutes(4)))
struct HostileResponseTests {
    private struct Outcome {
        var result: Result<URL, DownloadError>
        var names: [String]
        var requests: [RecordedRequest]

        var code: DownloadError.Code? {
            guard case .failure(let error) = result else { return nil }
            return error.code
        }
    }

    private func outcome(
        _ response: Response,
        _ headers: [HeaderField] = [],
        stallTimeout: Duration = .seconds(30)
    ) async throws -> Outcome {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(
                    .init {
                        $0.stallTimeout = stallTimeout
                        $0.retryPolicy.maxFailures = 0
                    }
                ) { manager in
                    let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder), headers: headers)
                    let download = try await manager.download(request)
                    let result: Result<URL, DownloadError>
                    do {
                        result = .success(try await download.value)
                    } catch let error as DownloadError {
                        result = .failure(error)
                    }
                    return Outcome(
                        result: result,
                        names: try FileProbe.names(in: folder),
                        requests: server.requests
                    )
                }
            }
        }
    }

    @Test func `a 404 says Not Found`() async throws {
        let result = try await outcome(.status(404)).result
        let error = #expect(throws: DownloadError.self) { try result.get() }
        #expect(error?.message == "The server responded with status 404, Not Found.")
    }

    @Test(arguments: ["-1", "abc", "12abc", "9223372036854775808", "5, 6", "", "5 5"])
    func `L05 an invalid Content-Length is rejected`(_ length: String) async throws {
        let outcome = try await outcome(.ok("hello").claimingLength(length))
        #expect(outcome.code == .protocolViolation)
        #expect(outcome.names == [])
    }

    @Test func `L05 two different Content-Length values are rejected`() async throws {
        let outcome = try await outcome(.ok("hello").header("Content-Length", "6"))
        #expect(outcome.code == .protocolViolation)
        #expect(outcome.names == [])
    }

    @Test func `L06 the same Content-Length twice is accepted`() async throws {
        let outcome = try await outcome(.ok("hello").claimingLength("5, 5"))
        #expect(outcome.names == ["file.bin"])
    }

    /// The start of a mebibyte of zeros, compressed with gzip.
    @Test func `S07 a compressed body is saved as sent and not expanded`() async throws {
        let front: [UInt8] = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xed, 0xc1, 0x31, 1, 0, 0, 0, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 8, 0x5f,
            0xa0,
        ]
        let bomb = front + repeatElement(0, count: 1016) + [0x3e, 3, 0x1c, 0xea, 0x38, 0xa7, 0, 0, 0x10, 0]
        try await withFaultServer(.ok(.bytes(bomb)).header("Content-Encoding", "gzip")) { server in
            try await withTemporaryDirectory { folder in
                let file = try await withDownloadManager { manager in
                    try await manager.download(DownloadRequest(server.url("/file.bin"), to: .directory(folder))).value
                }
                #expect(try FileProbe.bytes(of: file) == bomb)
            }
        }
    }

    @Test(arguments: [Ending.fin, .reset])
    func `L01 L02 L03 a body shorter than announced leaves a partial file`(_ ending: Ending) async throws {
        let outcome = try await outcome(.ok(.pattern(size: 100_000)).truncated(after: 99_999, by: ending))
        #expect(outcome.code == .connectionLost)
        #expect(outcome.names.count == 2)
        #expect(outcome.names.first?.hasSuffix(".part") == true)
    }

    @Test func `L04 bytes beyond the announced length are ignored`() async throws {
        let outcome = try await outcome(.ok("hello").extraBytes(100))
        guard case .success = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(outcome.names == ["file.bin"])
    }

    @Test func `L16 L17 a length larger than the free space is rejected before the first byte`() async throws {
        let outcome = try await outcome(.ok("hello").claimingLength("9223372036854775807"))
        #expect(outcome.code == .diskFull)
        #expect(outcome.names == [])
    }

    @Test func `L07 chunked framing overrides a wrong Content-Length`() async throws {
        let outcome = try await outcome(.ok("hello").chunked([2]).header("Content-Length", "9223372036854775807"))
        #expect(outcome.names == ["file.bin"])
    }

    @Test func `E08 an unrequested transfer coding is rejected`() async throws {
        let outcome = try await outcome(.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"))
        #expect(outcome.code == .protocolViolation)
        #expect(outcome.names == [])
    }

    @Test(arguments: [201, 204, 205, 300, 304, 400, 401, 403, 404, 407, 410, 416, 429, 451, 500, 503])
    func `L14 T04 D12 D14 a status other than 200 leaves no file`(_ status: Int) async throws {
        let outcome = try await outcome(
            .status(status, body: status == 204 || status == 304 ? "" : .pattern(size: 1_000_000))
                .header("WWW-Authenticate", "Basic realm=x")
        )
        guard case .failure(let error) = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(error.code == .httpStatus)
        #expect(error.statusCode == status)
        #expect(outcome.names == [])
    }

    @Test func `L15 fifty interim responses before the file are accepted`() async throws {
        let outcome = try await outcome(.ok("hello").interim(103, count: 50))
        #expect(outcome.names == ["file.bin"])
    }

    @Test func `T09 a stalled body fails as stalled`() async throws {
        let outcome = try await outcome(
            .ok(.pattern(size: 100_000)).stalled(after: 10),
            // Long enough for the first bytes on a busy machine.
            stallTimeout: .seconds(10)
        )
        #expect(outcome.code == .stalled)
        #expect(outcome.names.count == 2)
    }

    /// Regression: the body of an error was waited for as long as the bytes of a file.
    @Test func `an unneeded body that does not arrive delays nothing`() async throws {
        let refusal = Response.status(404, body: "not here").stalled(after: 3)
        for response in [refusal, .sequence([.redirect(to: "/file.bin").claimingLength("3")], then: refusal)] {
            let outcome = try await outcome(response, stallTimeout: .seconds(3600))
            #expect(outcome.code == .httpStatus)
            #expect(outcome.names == [])
        }
    }

    @Test func `L13 an empty file is accepted, with a length or chunked`() async throws {
        #expect(try await outcome(.ok("")).names == ["file.bin"])
        #expect(try await outcome(.ok("").chunked([1])).names == ["file.bin"])
    }

    @Test func `D05 a redirect without a Location is an error`() async throws {
        #expect(try await outcome(.status(302)).code == .httpStatus)
    }

    @Test func `D02 a redirect to itself ends in an error`() async throws {
        let outcome = try await outcome(.redirect(to: "/file.bin"))
        #expect(outcome.code == .redirect)
        #expect(outcome.requests.count == 21)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "data:,hello", "gopher://127.0.0.1/"])
    func `D10 a redirect to another scheme than http or https is rejected`(_ location: String) async throws {
        let outcome = try await outcome(.redirect(to: location))
        #expect(outcome.code == .redirect)
        #expect(outcome.names == [])
    }

    @Test func `D06 D07 credentials are not sent to another origin`() async throws {
        let secrets = [
            HeaderField(name: "Authorization", value: "Bearer s"), HeaderField(name: "cookie", value: "a=b"),
            HeaderField(name: "X-Open", value: "1"), HeaderField(name: "X-Api-Key", value: "k", isSecret: true),
        ]
        try await withFaultServer(.ok("x")) { other in
            let route = Response.routes([
                "/file.bin": .redirect(to: "/same"), "/same": .redirect(to: other.url("/x").absoluteString),
            ])
            let outcome = try await outcome(route, secrets)
            #expect(outcome.requests.map { $0["Authorization"] } == ["Bearer s", "Bearer s"])
            #expect(outcome.requests.map { $0["X-Api-Key"] } == ["k", "k"])
            let requested = try #require(other.requests.first)
            #expect(requested["Authorization"] == nil)
            #expect(requested["Cookie"] == nil)
            #expect(requested["X-Api-Key"] == nil)
            #expect(requested["X-Open"] == "1")
        }
    }
}
