import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads with an expected size, from servers with that size, another one, or no Content-Length.
@Suite(.timeLimit(.minutes(4)))
struct ExpectedSizeTests {
    private typealias Fixture = ResumeFixture
    private let file = Fixture.old
    private let size = Fixture.size
    private let cut = Fixture.cut

    /// A file of another size with the same tag.
    private func other(by difference: Int64) -> Resource { Resource(size: size + difference, seed: 2) }

    private func run(
        _ response: Response,
        retries: Int = 1
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            try await Fixture.run(
                response,
                in: folder,
                retries: retries,
                change: { $0.expectedSize = size }
            )
        }
    }

    private func left(_ outcome: ResumeOutcome) -> [DownloadError] {
        outcome.events.compactMap { if case .sourceFailed(let error, _) = $0 { error } else { nil } }
    }

    private func isResponse(_ event: DownloadEvent) -> Bool {
        if case .responded = event { true } else { false }
    }

    @Test(arguments: [-1, 1, -Fixture.size])
    func `a source with another size is abandoned for the next one before its first byte`(
        _ difference: Int64
    ) async throws {
        let routes = ["/a": Response.file(other(by: difference)), "/b": .file(file)]
        let outcome = try await Fixture.run(withMirrors: routes) { $0.expectedSize = size }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.map(\.path) == ["/a", "/b"])
        #expect(left(outcome).map(\.code) == [.checksum])
        #expect(outcome.events.count(where: isResponse) == 1)
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `if no source has the expected size, the error names the expected and the actual size`() async throws {
        let outcome = try await run(.file(other(by: 1)))
        #expect(outcome.error?.code == .checksum)
        #expect(outcome.error?.message.contains("\(size + 1) bytes") == true, "\(String(describing: outcome.error))")
        #expect(outcome.error?.message.contains("\(size) are expected") == true)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
    }

    @Test func `an expected size over the limit is rejected before the first request`() async throws {
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(.file(file), in: folder) { [size] in
                $0.maxFileSize = size - 1
            } change: { [size] in
                $0.expectedSize = size
            }
        }
        #expect(outcome.error?.code == .fileTooLarge)
        #expect(outcome.requests.isEmpty)
    }

    // MARK: Without a length

    @Test func `a body without a length is accepted if it ends at the expected size`() async throws {
        for response in [Response.file(file).chunked(), .file(file).closeDelimited] {
            let outcome = try await run(response)
            #expect(outcome.isExact)
            guard case .finished(let summary) = outcome.events.last else { return }
            #expect(summary.isLengthVerified)
        }
    }

    /// If the end of the connection may be a cut, the bytes that are missing from a short body are requested.
    @Test(arguments: [-1, 1, -Fixture.size], [true, false])
    func `a body without a length that ends at another size is not renamed`(
        _ difference: Int64,
        _ isChunked: Bool
    ) async throws {
        let response = Response.file(other(by: difference))
        let outcome = try await run(isChunked ? response.chunked() : response.closeDelimited)
        #expect(!outcome.names.contains("file.bin"))
        let error = try #require(outcome.error)
        #expect(error.code == .checksum || !isChunked && difference == -size && error.code == .connectionLost)
        #expect(error.message.contains("\(size)"))
        if isChunked { #expect(outcome.requests.count == 1) }
    }

    @Test func `an endless body is abandoned once it exceeds the size, and the next source is used`() async throws {
        let endless = Response.ok(.pattern(size: 1 << 50)).chunked()
        let outcome = try await Fixture.run(withMirrors: ["/a": endless, "/b": .file(file)]) { $0.expectedSize = size }
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/a", "/b"])
        #expect(left(outcome).map(\.code) == [.checksum])
        #expect(outcome.restarts.allSatisfy { $0.bytes < size + 1 << 20 } && outcome.restarts.count == 1)
    }

    @Test func `a connection that ends before the expected size is a cut, and the rest is requested`() async throws {
        let part = Response.whole(Resource(file.body.slice(0..<cut))).closeDelimited
        let outcome = try await run(.sequence([part], then: .file(file)))
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
        #expect(outcome.requests.count == 2)
    }

    @Test func `without a Content-Length, progress and free space are computed from the expected size`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            let totals = Locked<Set<Int64?>>([])
            let outcome = try await withFaultServer(.file(file).chunked()) { server in
                try await withDownloadManager { manager in
                    var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    request.expectedSize = size
                    let download = try await manager.download(request)
                    for await progress in download.progress where progress.bytesReceived > 0 {
                        totals.withLock { _ = $0.insert(progress.totalBytes) }
                    }
                    return try await Fixture.outcome(of: download, from: server, in: folder, expecting: file)
                }
            }
            #expect(outcome.isExact)
            #expect(totals.withLock { $0 } == [size])
        }
        try await withTemporaryDirectory { folder in
            var request = try DiskFixture.request(to: .directory(folder))
            request.expectedSize = 2
            var calls = FileSystem.system
            calls.freeSpace = { _ in 1 }
            calls.spaceAfterPurging = { _ in 0 }
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration(),
                    transport: FakeTransport { _ in
                        FakeTransport.Reply(200, fields: [("Transfer-Encoding", "chunked")], body: Array("ab".utf8))
                    },
                    files: calls,
                    clock: AnyClock(TestClock())
                )
            )
            let error = await #expect(throws: DownloadError.self) { try await manager.download(request).value }
            #expect(error?.code == .diskFull)
            #expect(try FileProbe.names(in: folder) == [])
            await manager.shutdown()
        }
    }

    // MARK: What is there already

    /// The file's size is known before the first response, or was exceeded by the received bytes.
    @Test(arguments: [true, false], [(true, "application/octet-stream"), (true, "image/png"), (false, "image/png")])
    func `downloaded bytes of another size are discarded only for a response with the right size`(
        _ isChunked: Bool,
        _ reply: (isRight: Bool, mediaType: String)
    ) async throws {
        let (isRight, mediaType) = reply
        var short = Resource(size: cut - 1, seed: 3)
        short.contentType = mediaType
        let first = Response.file(file).truncated(after: cut)
        try await withTemporaryDirectory { folder in
            let last = Response.file(isRight ? short : other(by: 5))
            try await withFaultServer(.sequence([isChunked ? first.chunked() : first], then: last)) { server in
                let cutOff = try await Fixture.run(from: server, in: folder, retries: 0)
                #expect(cutOff.error?.code == .connectionLost)
                let outcome = try await Fixture.run(
                    from: server,
                    in: folder,
                    expecting: short,
                    retries: 0,
                    change: { $0.expectedSize = cut - 1 }
                )
                #expect(outcome.isExact == isRight, "\(outcome.events)")
                #expect(outcome.ranges == [nil, nil])
                #expect(outcome.restarts.map(\.bytes) == (isRight ? [cut] : []))
                guard !isRight else { return }
                #expect(outcome.error?.code == .checksum)
                let partial = try #require(outcome.names.first { $0.hasSuffix(".part") })
                #expect(FileProbe.size(of: folder.appending(path: partial)) == cut)
            }
        }
    }

    @Test func `a complete partial file of another size is not renamed`() async throws {
        let gate = try Gate()
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(file).held(after: cut, until: gate)) { server in
                let place = folder.appending(path: "file.bin")
                var expected: Int64?
                let change = { (request: inout DownloadRequest) in
                    request.destination = .file(place)
                    request.conflictPolicy = .fail
                    request.expectedSize = expected
                }
                let first = try await Fixture.run(
                    from: server,
                    in: folder,
                    change: change,
                    onEvent: {
                        guard isResponse($0) else { return }
                        #expect(throws: Never.self) { try Data().write(to: place) }
                        gate.open()
                    }
                )
                #expect(first.error?.code == .fileExists && first.names.count > 1)
                try FileManager.default.removeItem(at: place)
                expected = size - 1
                let second = try await Fixture.run(from: server, in: folder, change: change)
                #expect(second.error?.code == .checksum)
                #expect(!second.names.contains("file.bin"))
            }
        }
    }

    @Test func `an existing file of another size is not the result`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.sequence([.file(other(by: 1))], then: .file(file))) { server in
                for expected in [nil, size] {
                    let outcome = try await Fixture.run(
                        from: server,
                        in: folder,
                        change: {
                            $0.destination = .file(folder.appending(path: "file.bin"))
                            $0.refetchPolicy = .ifChanged
                            $0.expectedSize = expected
                        }
                    )
                    #expect(outcome.error == nil)
                    #expect((outcome.difference == nil) == (expected != nil), "\(outcome.events)")
                }
            }
        }
    }

    /// Only the second response, of the same version, has the complete length.
    @Test func `bytes of a version that turns out to have another size are not continued from a mirror`() async throws {
        let (bad, good) = (other(by: 100), file)
        let parts = [Response.file(bad).truncated(after: cut).chunked()]
        let outcome = try await Fixture.run(
            withMirrors: ["/a": .sequence(parts, then: .file(bad)), "/b": .file(good)],
            retries: 1
        ) {
            $0.expectedSize = size
        }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.map(\.path) == ["/a", "/a", "/b"])
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `a mirror with another size does not invalidate the bytes received from the origin`() async throws {
        var other = Resource(size: size + 100, seed: 2, etag: "\"b\"")
        other.ifRange = .ignored
        let checksum = try Checksum(of: file.body)
        let outcome = try await Fixture.run(
            withMirrors: [
                "/a": .sequence([.file(file).truncated(after: cut).chunked()], then: .status(404)),
                "/b": .file(other),
                "/c": .file(Resource(file.body, etag: "\"c\"")),
            ],
            retries: 1
        ) {
            $0.expectedSize = size
            $0.checksums = [checksum]
        }
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.map(\.path) == ["/a", "/a", "/b", "/c", "/c"])
        #expect(outcome.restarts.isEmpty)
    }
}
