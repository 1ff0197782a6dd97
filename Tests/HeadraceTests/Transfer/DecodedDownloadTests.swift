import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads whose body is transferred in a content coding and decoded at the end.
@Suite(.timeLimit(.minutes(4)), .enabled(if: ContentCoding.decodable.count == 4, "a library is missing"))
struct DecodedDownloadTests {
    private typealias Fixture = ResumeFixture

    private static let plain = Pattern(seed: 1).bytes(in: 0..<300_000)
    private static let encoded = EncodedFile.gzip(plain)
    private static let file = Resource(.bytes(plain))
    private static let response = serve(encoded)

    private static func serve(
        _ bytes: [UInt8],
        _ coding: String = "gzip",
        tag: String? = "\"v1\""
    ) -> Response {
        Response.file(Resource(.bytes(bytes), etag: tag)).header("Content-Encoding", coding)
    }

    private func run(
        _ response: Response,
        expecting expected: Resource = file,
        retries: Int = 3,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            try await Fixture.run(response, in: folder, expecting: expected, retries: retries, configure: configure) {
                $0.decodesContent = true
                change(&$0)
            }
        }
    }

    private func run(
        from server: FaultServer,
        in folder: URL,
        expecting expected: Resource = file,
        retries: Int = 0,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await Fixture.run(from: server, in: folder, expecting: expected, retries: retries, configure: configure) {
            $0.decodesContent = true
            change(&$0)
        }
    }

    /// Passes a server, and a folder for several runs, to `body`.
    private func withServer(_ response: Response, _ body: (FaultServer, URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { try await body($0, folder) }
        }
    }

    @Test(arguments: ContentCoding.allCases)
    func `a file is saved decoded from each coding`(_ coding: ContentCoding) async throws {
        let bytes = try #require(EncodedFile.samples.first { $0.coding == coding }?.bytes)
        let outcome = try await run(
            Self.serve(bytes, coding.rawValue),
            expecting: Resource(.bytes(EncodedFile.text))
        ) { $0.setsRemoteTime = true }
        #expect(outcome.isExact)
        #expect(outcome.requests.map { $0["Accept-Encoding"] } == ["zstd, br, gzip"])
        guard case .finished(let summary) = outcome.events.last else {
            Issue.record("\(outcome.events)")
            return
        }
        #expect(summary.fileSize == Int64(EncodedFile.text.count) && summary.bytesFetched == Int64(bytes.count))
        #expect(summary.isLengthVerified)
    }

    @Test(arguments: [true, false])
    func `an empty body has no coding to remove`(_ hasLength: Bool) async throws {
        let empty = Self.serve([])
        let outcome = try await run(hasLength ? empty : empty.chunked(), expecting: Resource(.bytes([])))
        #expect(outcome.isExact)
    }

    @Test(arguments: [DownloadConfiguration.Durability.none, .full])
    func `a cut encoded file resumes on its encoded bytes`(
        _ durability: DownloadConfiguration.Durability
    ) async throws {
        let response = Response.sequence([Self.response.truncated(after: Fixture.cut)], then: Self.response)
        let outcome = try await run(response) { $0.durability = durability }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [Fixture.cut] && outcome.restarts.isEmpty)
        #expect(outcome.ifRanges == [nil, "\"v1\""])
        #expect(Set(outcome.requests.map { $0["Accept-Encoding"] }) == ["zstd, br, gzip"])
    }

    @Test func `a later run resumes the encoded file`() async throws {
        let response = Response.sequence([Self.response.truncated(after: Fixture.cut)], then: Self.response)
        try await withServer(response) { server, folder in
            #expect(try await run(from: server, in: folder).error?.code == .connectionLost)
            let outcome = try await run(from: server, in: folder)
            #expect(outcome.isExact && outcome.resumes == [Fixture.cut])
        }
    }

    @Test func `several connections download an encoded file`() async throws {
        let plain = Pattern(seed: 3).bytes(in: 0..<6 << 20)
        let (encoded, gate) = (EncodedFile.gzip(plain), try Gate())
        let response = Response.answering { request in
            if request.index == 3 { gate.open() }
            let response = Self.serve(encoded)
            return request.index == 0 ? response.held(after: 600_000, until: gate) : response
        }
        let outcome = try await run(response, expecting: Resource(.bytes(plain))) {
            $0.maxConnectionsPerDownload = 4
        }
        #expect(outcome.isExact)
        #expect(outcome.requests.count >= 4 && Set(outcome.ifRanges.dropFirst()) == ["\"v1\""])
    }

    @Test(arguments: ["br", "identity"])
    func `a rest in another coding restarts the download`(_ coding: String) async throws {
        let response = Response.answering { request in
            guard request["Range"] == nil else { return Self.serve(Self.encoded, coding) }
            return request.index == 0 ? Self.response.truncated(after: Fixture.cut) : Self.response
        }
        let outcome = try await run(response)
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.reason) == [.changedContentCoding])
    }

    @Test func `a server that does not encode sends the file itself`() async throws {
        let checksum = try Checksum(.sha256, of: Self.plain)
        let file = Response.file(Self.file)
        let response = Response.sequence([file.truncated(after: Fixture.cut)], then: file)
        let outcome = try await run(response, change: { $0.checksums = [checksum] })
        #expect(outcome.isExact && outcome.resumes == [Fixture.cut])
        #expect(outcome.events.contains(.verified(checksum)))
    }

    @Test func `an encoded body without a length is verified by its own end`() async throws {
        for response in [Self.response.chunked(), Self.response.closeDelimited] {
            #expect(try await run(response).isExact)
        }
        let cut = Self.serve(Array(Self.encoded.dropLast(9))).closeDelimited
        let outcome = try await run(cut, retries: 0)
        #expect(outcome.error?.code == .connectionLost && outcome.error?.message.contains("truncated") == true)
        #expect(try await run(.sequence([cut], then: Self.response)).isExact)
    }

    @Test func `a damaged coding is not taken for a lost connection`() async throws {
        var bytes = Self.encoded
        bytes[bytes.count / 2] ^= 1
        let outcome = try await run(Self.serve(bytes).closeDelimited)
        #expect(outcome.error?.code == .contentCoding && outcome.requests.count == 1)
    }

    // MARK: Wrong bytes

    private static var damaged: [(what: String, bytes: [UInt8])] {
        var changed = encoded
        changed[encoded.count / 2] ^= 1
        return [
            ("damaged", changed), ("damaged", encoded + [0, 0]), ("truncated", Array(encoded.dropLast())),
            ("damaged", Array("plain text".utf8)),
        ]
    }

    @Test func `damaged encoded bytes are an error, and leave no file`() async throws {
        for (what, bytes) in Self.damaged {
            let outcome = try await run(Self.serve(bytes))
            #expect(outcome.error?.code == .contentCoding && outcome.error?.message.contains(what) == true)
            #expect(outcome.names == [] && outcome.requests.count == 1)
        }
    }

    @Test func `parts that do not fit together are downloaded again as one`() async throws {
        let other = Self.serve(EncodedFile.gzip(Pattern(seed: 2).bytes(in: 0..<300_000)))
        let response = Response.answering { request in
            guard request["Range"] == nil else { return other }
            return request.index == 0 ? Self.response.truncated(after: Fixture.cut) : Self.response
        }
        let outcome = try await run(response)
        #expect(outcome.isExact)
        guard case .mismatch(let error)? = outcome.restarts.first?.reason else {
            Issue.record("\(outcome.events)")
            return
        }
        #expect(error.code == .contentCoding && outcome.requests.count == 3)
    }

    @Test(arguments: ["gzip, gzip", "compress"])
    func `a coding that cannot be decoded fails before the body`(_ coding: String) async throws {
        let outcome = try await run(Self.serve(Self.encoded, coding))
        #expect(outcome.error?.code == .contentCoding && outcome.error?.message.contains(coding) == true)
        #expect(outcome.names == [] && outcome.requests.count == 1)
    }

    @Test func `S07 a decoded file stops at the size limit, and continues without a request once it is raised`()
        async throws
    {
        let zeros = Resource(.bytes([UInt8](repeating: 0, count: Int(EncodedFile.bombSize))))
        try await withServer(Self.serve(EncodedFile.bomb, "br")) { server, folder in
            let first = try await run(from: server, in: folder, expecting: zeros) { $0.maxFileSize = 1 << 20 }
            #expect(first.error?.code == .fileTooLarge)
            #expect(first.names.count == 2 && first.names.allSatisfy { $0.contains(".part") }, "\(first.names)")
            #expect(!first.names.contains { $0.hasSuffix(ReservedFileNames.decodedSuffix) })
            let second = try await run(from: server, in: folder, expecting: zeros) {
                $0.maxFileSize = EncodedFile.bombSize
            }
            #expect(second.isExact && second.requests.count == 1)
        }
    }

    // MARK: Checksums

    @Test func `the request's checksum and size are those of the decoded file`() async throws {
        let right = try Checksum(.sha256, of: Self.plain)
        let size = Int64(Self.plain.count)
        let verified = try await run(Self.response, change: { ($0.checksums, $0.expectedSize) = ([right], size) })
        #expect(verified.isExact && verified.events.contains(.verified(right)))
        let pieces = PieceHashes(
            length: 100_000,
            checksums: try stride(from: 0, to: Self.plain.count, by: 100_000).map {
                try Checksum(.sha256, of: Array(Self.plain[$0..<$0 + 100_000]))
            }
        )
        #expect(try await run(Self.response, change: { $0.pieceHashes = pieces }).isExact)
        let wrong = try Checksum(.sha256, of: Self.encoded)
        let changes: [@Sendable (inout DownloadRequest) -> Void] = [
            { $0.checksums = [wrong] }, { $0.expectedSize = size + 1 },
        ]
        for change in changes {
            try await withServer(Self.response) { server, folder in
                let outcome = try await run(from: server, in: folder, change: change)
                #expect(outcome.error?.code == .checksum && outcome.names == ["file.bin.mismatch"])
                let saved = folder.appending(path: "file.bin.mismatch")
                #expect(Self.file.body.difference(fromFileAt: saved) == nil)
            }
        }
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"])
    func `V14 the server's digests are those of the encoded bytes`(_ name: String) async throws {
        for (bytes, isRight) in [(Self.encoded, true), (Self.plain, false)] {
            let base64 = Data(try Checksum(.sha256, of: bytes).bytes).base64EncodedString()
            let outcome = try await run(Self.response.header(name, "sha-256=:\(base64):"), retries: 0)
            #expect(outcome.isExact == isRight)
            #expect(outcome.error?.code == (isRight ? nil : .checksum))
        }
    }

    // MARK: Other files

    @Test func `a decoded file is current until the server has another version`() async throws {
        try await withServer(Self.response) { server, folder in
            #expect(try await run(from: server, in: folder).isExact)
            let again = try await run(from: server, in: folder)
            #expect(again.isExact && again.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
            let unchanged = again.events.contains { if case .unchanged = $0 { true } else { false } }
            #expect(unchanged)
            // The same file without decoding may differ.
            let plain = try await Fixture.run(from: server, in: folder, expecting: Self.file)
            #expect(plain.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", nil])
        }
    }

    @Test func `an existing file is kept beside the decoded one`() async throws {
        try await withServer(Self.response) { server, folder in
            try Data("mine".utf8).write(to: folder.appending(path: "file.bin"))
            let outcome = try await run(from: server, in: folder)
            #expect(outcome.error == nil && outcome.names == ["file (1).bin", "file.bin"])
            #expect(Self.file.body.difference(fromFileAt: folder.appending(path: "file (1).bin")) == nil)
            let failed = try await run(
                from: server,
                in: folder,
                change: { ($0.conflictPolicy, $0.refetchPolicy) = (.fail, .always) }
            )
            #expect(failed.error?.code == .fileExists)
            #expect(!failed.names.contains { $0.hasSuffix(ReservedFileNames.decodedSuffix) })
        }
    }

    @Test func `readers receive the decoded bytes once the file is finished`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(Self.response.limited(bytesPerSecond: 1 << 20)) { server in
                try await withDownloadManager(DownloadConfiguration()) { manager in
                    var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    request.decodesContent = true
                    let download = try await manager.download(request)
                    var bytes: [UInt8] = []
                    for try await data in download.bytes(in: 100...) { bytes += data }
                    #expect(bytes == Array(Self.plain.dropFirst(100)))
                    #expect(download.state.kind == .finished)
                    // A reader that starts later reads the same file.
                    bytes = []
                    for try await data in download.bytes() { bytes += data }
                    #expect(bytes == Self.plain)
                }
            }
        }
    }

    @Test func `bytes in memory are requested without a coding`() async throws {
        try await withFaultServer(.file(Self.file)) { server in
            try await withDownloadManager(DownloadConfiguration()) { manager in
                let data = try await manager.data(from: server.url("/file.bin"))
                #expect(Array(data) == Self.plain)
                #expect(server.requests.map { $0["Accept-Encoding"] } == ["identity"])
            }
        }
    }
}
