import HeadraceTestSupport
import Testing

@testable import Headrace

/// Valid and invalid responses to the range request after a cut.
@Suite(.timeLimit(.minutes(4)))
struct ResumeRangeTests {
    private typealias Fixture = ResumeFixture
    private let old = ResumeFixture.old
    private let new = ResumeFixture.new
    private let cut = ResumeFixture.cut
    private let size = ResumeFixture.size

    @Test func `R01 a complete response takes one request without a range`() async throws {
        let outcome = try await withTemporaryDirectory { try await Fixture.run(.file(old), in: $0) }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil])
    }

    @Test func `R02 a cut is resumed with Range and If-Range, and no byte is downloaded twice`() async throws {
        let outcome = try await Fixture.afterCut(.file(old))
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(cut)-"])
        #expect(outcome.ifRanges == [nil, "\"v1\""])
        #expect(outcome.resumes == [cut])
        #expect(outcome.requests.map(\.bodyBytesSent).reduce(0, +) == size)
    }

    @Test func `R03 twenty cuts at random offsets lose no bytes`() async throws {
        var random = SeededRandom(seed: 3)
        let cuts = (0..<20).map { _ in Int64.random(in: 1...20_000, using: &random) }
        let response = Response.sequence(cuts.map { .file(old).truncated(after: $0) }, then: .file(old))
        let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0) }
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 21)
        #expect(outcome.requests.map(\.bodyBytesSent).reduce(0, +) == size)
    }

    @Test func `R04 a cut before the first body byte or inside the header is retried`() async throws {
        let response = Response.sequence(
            [.file(old).truncated(after: 0), .file(old).headTruncated(after: 20), .nothing(by: .reset)],
            then: .file(old)
        )
        let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0) }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, nil, nil, nil])
    }

    @Test func `R05 the extra bytes of a part that starts 1000 bytes early are skipped`() async throws {
        let outcome = try await Fixture.afterCut(.part(cut - 1000..<size, of: old))
        #expect(outcome.isExact)
    }

    @Test func `R06 a part that starts late is not used`() async throws {
        let outcome = try await Fixture.afterCut(.part(cut + 1000..<size, of: old), then: .file(old))
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `R07 a part without Content-Range is not used`() async throws {
        let outcome = try await Fixture.afterCut(
            .part(cut..<size, of: old).withoutHeader("Content-Range"),
            then: .file(old)
        )
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test(arguments: ["bytes 9-5/100", "bytes 0-99/50", "items 120000-299999/300000", "bytes x", ""])
    func `R08 R09 a part with an invalid Content-Range is not used`(_ range: String) async throws {
        let outcome = try await Fixture.afterCut(.part(cut..<size, of: old).contentRange(range), then: .file(old))
        #expect(outcome.isExact)
    }

    @Test func `R10 a part with an unknown total keeps the known size`() async throws {
        let outcome = try await Fixture.afterCut(
            .part(cut..<size, of: old).contentRange("bytes \(cut)-\(size - 1)/*")
        )
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
    }

    @Test func `R11 after a part shorter than requested the rest is requested`() async throws {
        let outcome = try await Fixture.afterCut(.part(cut..<cut + 50_000, of: old), then: .file(old))
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut + 50_000)-"])
    }

    /// Regression: the first part was taken for the end of the file.
    @Test func `R10 R11 parts of a file of unknown size are requested until a 416`()
        async throws
    {
        let first = Response.whole(old).chunked().truncated(after: cut)
        let middle = cut + 50_000
        let parts = [cut..<middle, middle..<size].map { part in
            Response.part(part, of: old).contentRange("bytes \(part.lowerBound)-\(part.upperBound - 1)/*")
        }
        let end = Response.status(416, headers: ["Content-Range": "bytes */\(size)"])
        let outcome = try await withTemporaryDirectory {
            try await Fixture.run(.sequence([first] + parts, then: end), in: $0)
        }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(cut)-", "bytes=\(middle)-", "bytes=\(size)-"])
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `R12 a part with another total belongs to another version`() async throws {
        let longer = Resource(size: size + 5000, seed: 2, etag: "\"v1\"")
        let outcome = try await Fixture.afterCut(
            .part(cut..<size + 5000, of: longer),
            then: .file(longer),
            expecting: longer
        )
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `R13 a part whose length contradicts its range is not used`() async throws {
        let outcome = try await Fixture.afterCut(.part(cut..<size, of: old).claimingLength("100"), then: .file(old))
        #expect(outcome.isExact)
    }

    @Test func `R14 a multipart body is not used`() async throws {
        let parts = Response.part(cut..<size, of: old).withoutHeader("Content-Range")
            .settingHeader("Content-Type", "multipart/byteranges; boundary=x")
        let outcome = try await Fixture.afterCut(parts, then: .file(old))
        #expect(outcome.isExact)
    }

    @Test func `R15 after a 206 without a range request the whole file is requested again`() async throws {
        let response = Response.sequence([.part(0..<100, of: old)], then: .file(old))
        let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0) }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, nil])
    }

    @Test func `R16 a 200 to a range request restarts the file from that body`() async throws {
        var none = old
        none.acceptRanges = "none"
        let outcome = try await Fixture.afterCut(.whole(none))
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 2)
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `a 200 with the same tag keeps the bytes while a server ignores ranges for a time`() async throws {
        let whole = Response.whole(old).truncated(after: 50_000)
        let response = Response.sequence([.file(old).truncated(after: cut), whole, whole], then: .file(old))
        let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0) }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil] + Array(repeating: "bytes=\(cut)-", count: 3))
        #expect(outcome.restarts.isEmpty)
        #expect(outcome.events.contains(.notice(.rangeIgnored(cut))))
        let continued = try await Fixture.afterCut(.whole(old))
        #expect(continued.isExact)
        #expect(continued.restarts.isEmpty)
        #expect(continued.resumes == [cut])
    }

    @Test func `R17 if a server drops the range because of If-Range, it is left out`() async throws {
        var spoilt = old
        spoilt.ifRange = .refused
        let outcome = try await Fixture.afterCut(.file(spoilt))
        #expect(outcome.isExact)
        #expect(outcome.ifRanges == [nil, "\"v1\"", nil])
        #expect(outcome.resumes == [cut])
    }

    @Test func `R18 a login page does not replace the downloaded bytes`() async throws {
        let page = Response.ok("<html>log in</html>!").header("Content-Type", "text/html")
        let outcome = try await Fixture.afterCut(page)
        #expect(outcome.error?.code == .unexpectedContent)
        #expect(outcome.names.filter { $0.hasSuffix(".part") }.count == 1)
    }

    @Test func `R19 R34 a complete partial file is renamed without a request`() async throws {
        try await withTemporaryDirectory { folder in
            let move = FileSystemRecorder { call throws(SystemError) in
                if call == .move { throw SystemError(errno: 5) }
            }
            try await withFaultServer(.file(old)) { server in
                let manager = try await DownloadManager(
                    environment: TransferEnvironment(
                        configuration: DownloadConfiguration(),
                        transport: try DownloadConfiguration().makeTransport(),
                        files: move.fileCalls,
                        clock: AnyClock(ContinuousClock())
                    )
                )
                let download = try await manager.download(
                    DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                )
                await #expect(throws: DownloadError.self) { try await download.value }
                await manager.shutdown()
                let outcome = try await ResumeFixture.run(from: server, in: folder)
                #expect(outcome.isExact)
                #expect(outcome.requests.count == 1)
            }
        }
    }

    @Test func `R20 R21 a 416 to a range request restarts the download`() async throws {
        let short = Resource(size: 1000, seed: 2, etag: "\"v2\"")
        for response in [Response.status(416, headers: ["Content-Range": "bytes */1000"]), .status(416)] {
            let outcome = try await Fixture.afterCut(response, then: .file(short), expecting: short)
            #expect(outcome.isExact)
        }
    }

    @Test func `R22 a 412 to a range request restarts the download`() async throws {
        let outcome = try await Fixture.afterCut(.status(412), then: .file(new), expecting: new)
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `R23 a server that refuses ranges is not sent a range request`() async throws {
        var none = old
        none.acceptRanges = "none"
        let outcome = try await Fixture.afterCut(of: none, .file(none))
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, nil])
    }

    @Test func `R24 a server without Accept-Ranges may still serve ranges`() async throws {
        var silent = old
        silent.acceptRanges = nil
        let outcome = try await Fixture.afterCut(of: silent, .file(silent))
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
    }

    @Test func `R30 a file of one byte is downloaded`() async throws {
        let byte = Resource(size: 1)
        let outcome = try await withTemporaryDirectory {
            try await Fixture.run(.file(byte), in: $0, expecting: byte)
        }
        #expect(outcome.isExact)
    }

    @Test func `R31 a chunked body without a length is resumed after a cut`() async throws {
        let outcome = try await withTemporaryDirectory {
            try await Fixture.run(
                .sequence([.file(old).chunked().truncated(after: cut)], then: .file(old)),
                in: $0
            )
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
    }

    @Test func `R32 each attempt requests the original URL to get a newly signed link`() async throws {
        let outcome = try await withTemporaryDirectory { folder in
            let response = Response.answering { request in
                switch request.path {
                case "/file.bin": .redirect(to: "/signed/\(request.attempt)/file.bin")
                case "/signed/0/file.bin": .file(ResumeFixture.old).truncated(after: ResumeFixture.cut)
                default: .file(ResumeFixture.old)
                }
            }
            return try await withFaultServer(response) { server in
                try await ResumeFixture.run(from: server, in: folder)
            }
        }
        #expect(outcome.isExact)
        #expect(
            outcome.requests.map(\.path)
                == ["/file.bin", "/signed/0/file.bin", "/file.bin", "/signed/1/file.bin"]
        )
        #expect(outcome.ranges == [nil, nil, "bytes=\(cut)-", "bytes=\(cut)-"])
    }

    @Test func `R33 an expired link fails the download but keeps the bytes`() async throws {
        let outcome = try await Fixture.afterCut(.status(403))
        #expect(outcome.error?.statusCode == 403)
        #expect(outcome.names.filter { $0.hasSuffix(".part") }.count == 1)
    }
}
