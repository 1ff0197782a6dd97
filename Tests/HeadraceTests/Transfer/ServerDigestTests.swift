import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Files that are verified with the digest that their server sends.
@Suite(.timeLimit(.minutes(4)))
struct ServerDigestTests {
    private typealias Fixture = ResumeFixture

    /// The field with the digest of a resource.
    private static func field(_ name: String, of resource: Resource) throws -> (String, String) {
        let bytes = Pattern(seed: resource.body == Fixture.old.body ? 1 : 2).bytes(in: 0..<Fixture.size)
        let algorithm: Checksum.Algorithm = ["Content-MD5", "X-Goog-Hash"].contains(name) ? .md5 : .sha256
        let checksum = try Checksum(algorithm, of: bytes)
        let base64 = Data(checksum.bytes).base64EncodedString()
        let value =
            switch name {
            case "Content-MD5": base64
            case "Digest": "SHA-256=\(base64)"
            case "X-Goog-Hash": "md5=\(base64)"
            case "X-Checksum-SHA256": checksum.hexadecimal
            default: "sha-256=:\(base64):"
            }
        return (name, value)
    }

    private static let names = [
        "Repr-Digest", "Digest", "Content-Digest", "Content-MD5", "X-Goog-Hash", "X-Checksum-SHA256",
    ]

    @Test(arguments: names)
    func `V14 a matching digest is reported, and a file with a wrong one is not renamed`(_ name: String) async throws {
        for (resource, isRight) in [(Fixture.old, true), (Fixture.new, false)] {
            let (name, value) = try Self.field(name, of: resource)
            let outcome = try await withTemporaryDirectory { folder in
                try await Fixture.run(.file(Fixture.old).header(name, value), in: folder)
            }
            #expect(outcome.isExact == isRight)
            #expect(outcome.error?.code == (isRight ? nil : .checksum))
            #expect(outcome.requests.count == 1)
            #expect(isRight || outcome.names == ["file.bin.mismatch"])
            let isVerified = outcome.events.contains { if case .verified = $0 { true } else { false } }
            #expect(isVerified == isRight)
        }
    }

    @Test func `V14 an unknown algorithm and a digest in a trailer are ignored`() async throws {
        let (name, value) = try Self.field("Repr-Digest", of: Fixture.new)
        let responses = [
            Response.file(Fixture.old).header("Repr-Digest", "crc32c=:AAAAAA==:"),
            .whole(Fixture.old).chunked(trailers: ["Repr-Digest": value]),
        ]
        for response in responses {
            let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0) }
            #expect(outcome.isExact, "\(name)")
        }
    }

    @Test(arguments: [Checksum.Algorithm.crc32, .crc32c, .crc64nvme])
    func `a check value of the server is verified and reported`(_ algorithm: Checksum.Algorithm) async throws {
        let checksum = try Checksum(algorithm, of: Pattern(seed: 1).bytes(in: 0..<Fixture.size))
        let value = Data(checksum.bytes).base64EncodedString()
        for (resource, isRight) in [(Fixture.old, true), (Fixture.new, false)] {
            let outcome = try await withTemporaryDirectory { folder in
                try await Fixture.run(.file(resource).header("x-amz-checksum-\(algorithm)", value), in: folder)
            }
            #expect(outcome.error?.code == (isRight ? nil : .checksum))
            #expect(outcome.events.contains(.verified(checksum)) == isRight)
        }
    }

    @Test func `the checksum that the first redirect announces is verified`() async throws {
        let digits = try Checksum(of: Fixture.old.body).hexadecimal
        for (resource, isRight) in [(Fixture.old, true), (Fixture.new, false)] {
            let redirect = Response.redirect(302, to: "/cdn").header("X-Linked-Size", "\(Fixture.size)")
                .header("X-Linked-ETag", "\"\(digits)\"")
            let routes = Response.routes(["/file.bin": redirect, "/cdn": .file(resource)])
            let outcome = try await withTemporaryDirectory { folder in
                try await Fixture.run(routes, in: folder) { _ in
                } change: {
                    $0.destination = .file(folder.appending(path: "file.bin"))
                }
            }
            #expect(outcome.error?.code == (isRight ? nil : .checksum))
        }
    }

    @Test func `V14 a wrong digest is ignored if the check is disabled`() async throws {
        let (name, value) = try Self.field("Repr-Digest", of: Fixture.new)
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .file(Fixture.old).header(name, value),
                in: folder,
                configure: { $0.checksServerDigests = false }
            )
        }
        #expect(outcome.isExact)
    }

    @Test func `V14 a checksum of the request takes precedence over the server's digest`() async throws {
        let (name, value) = try Self.field("Repr-Digest", of: Fixture.new)
        let expected = try Checksum(of: Fixture.old.body)
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .file(Fixture.old).header(name, value),
                in: folder,
                change: { $0.checksums = [expected] }
            )
        }
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 1)
    }

    @Test func `V14 a part's digest covers the whole file, and bytes of an earlier run are read for it`()
        async throws
    {
        let (name, value) = try Self.field("Repr-Digest", of: Fixture.old)
        try await withTemporaryDirectory { folder in
            let reply = Response.file(Fixture.old).header(name, value)
            let response = Response.sequence([reply.truncated(after: Fixture.cut)], then: reply)
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                let outcome = try await Fixture.run(from: server, in: folder)
                #expect(outcome.isExact)
                #expect(outcome.resumes == [Fixture.cut])
                #expect(outcome.events.contains(.verifying))
                #expect(outcome.events.contains(.verified(try Checksum(of: Fixture.old.body))))
            }
        }
    }

    /// Regression: the next run did not use the digest of the first run, which many servers send only with a 200.
    @Test(arguments: [true, false])
    func `V14 bytes of an earlier run are verified with the digest sent with them`(_ isRight: Bool) async throws {
        let (name, value) = try Self.field("Content-MD5", of: isRight ? Fixture.old : Fixture.new)
        try await withTemporaryDirectory { folder in
            let first = Response.file(Fixture.old).header(name, value).truncated(after: Fixture.cut)
            try await withFaultServer(.sequence([first], then: .file(Fixture.old))) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                let outcome = try await Fixture.run(from: server, in: folder)
                #expect(outcome.isExact)
                #expect(outcome.resumes == [Fixture.cut])
                #expect(outcome.events.contains(.verifying))
                #expect(outcome.restarts.map(\.bytes) == (isRight ? [] : [Fixture.size]))
            }
        }
    }

    @Test func `V14 a digest is kept while any bytes are downloaded, and dropped with them`() throws {
        let request = try DiskFixture.request(to: .directory(URL(filePath: "/")))
        var verification = Verification(request, checksServer: true)
        let (name, value) = try Self.field("Content-MD5", of: Fixture.old)
        let whole = ResponseHead(url: request.url, status: 200, fields: [HeaderField(name: name, value: value)])
        let part = ResponseHead(url: request.url, status: 206)
        try verification.begin(whole, ofOrigin: true, beside: ByteRangeSet())
        try verification.begin(part, ofOrigin: true, beside: ByteRangeSet([50..<60]))
        let expected = try #require(verification.expected)
        [UInt8](repeating: 1, count: 20).withUnsafeBytes { verification.update($0, at: 0) }
        #expect(try verification.takeDigest(expected.algorithm, ofFirst: 10).from == 0)
        try verification.begin(part, ofOrigin: true, beside: ByteRangeSet())
        #expect(verification.expected == nil)
    }

    @Test func `V14 piece hashes that another request adds replace the server's checksum`() throws {
        var request = try DiskFixture.request(to: .directory(URL(filePath: "/")))
        var verification = Verification(request, checksServer: true)
        try verification.begin(try head([Self.check]), ofOrigin: true, beside: ByteRangeSet())
        #expect(verification.expected != nil && verification.isFromServer)
        let piece = try #require(Checksum(.sha256, bytes: [UInt8](repeating: 1, count: 32)))
        request.pieceHashes = PieceHashes(length: 1 << 20, checksums: [piece])
        verification.takeOver(request)
        #expect(verification.expected == nil && verification.pieces != nil && !verification.isFromServer)
    }

    private func head(_ fields: [(String, String)]) throws -> ResponseHead {
        let url = try #require(URL(string: "http://h/a"))
        return ResponseHead(url: url, status: 206, fields: fields.map { HeaderField(name: $0.0, value: $0.1) })
    }

    private static let check = ("X-Goog-Hash", "crc32c=AAAAAA==")

    @Test func `V14 a weaker checksum of the server replaces the one of received bytes only if they are dropped`()
        throws
    {
        let request = try DiskFixture.request(to: .directory(URL(filePath: "/")))
        var verification = Verification(request, checksServer: true)
        let held = ByteRangeSet([0..<10])
        try verification.begin(try head([Self.check]), ofOrigin: true, beside: held)
        #expect(verification.expected?.algorithm == .crc32c)
        for field in [try Self.field("Repr-Digest", of: Fixture.old), Self.check] {
            try verification.begin(try head([field]), ofOrigin: true, beside: held)
            #expect(verification.expected?.algorithm == .sha256)
        }
        let other = try Self.field("Repr-Digest", of: Fixture.new)
        let before = verification.expected
        try verification.begin(try head([other]), ofOrigin: true, beside: held)
        #expect(verification.expected?.algorithm == .sha256 && verification.expected != before)
        try verification.begin(try head([Self.check]), ofOrigin: true, beside: ByteRangeSet())
        #expect(verification.expected?.algorithm == .crc32c)
    }

    /// As in FIPS mode, in which the system lacks MD5.
    @Test func `V14 a checksum that the system cannot compute changes neither an earlier one nor its digest`() throws {
        let request = try DiskFixture.request(to: .directory(URL(filePath: "/")))
        func digester(_ algorithm: Checksum.Algorithm) throws(DownloadError) -> Digester {
            guard algorithm != .md5 else { throw DownloadError(.digestUnavailable, "No MD5.") }
            return try Digester(algorithm)
        }
        let md5 = ("X-Goog-Hash", "md5=\(Data(repeating: 1, count: 16).base64EncodedString())")
        var verification = Verification(request, checksServer: true)
        try verification.begin(try head([Self.check]), ofOrigin: true, beside: ByteRangeSet(), with: digester)
        [UInt8](repeating: 1, count: 10).withUnsafeBytes { verification.update($0, at: 0) }
        try verification.begin(try head([md5]), ofOrigin: true, beside: ByteRangeSet([0..<10]), with: digester)
        #expect(verification.expected?.algorithm == .crc32c)
        #expect(try verification.takeDigest(.crc32c, ofFirst: 10).from == 10)
        // A resume record may have any checksum.
        var resumed = Verification(request, checksServer: true)
        try resumed.begin(try head([Self.check]), ofOrigin: true, beside: ByteRangeSet(), with: digester)
        [UInt8](repeating: 1, count: 10).withUnsafeBytes { resumed.update($0, at: 0) }
        try resumed.begin(try head([]), ofOrigin: true, beside: ByteRangeSet(), with: digester)
        resumed.resume(with: Checksum(.md5, bytes: [UInt8](repeating: 1, count: 16)))
        try resumed.begin(try head([]), ofOrigin: true, beside: ByteRangeSet([0..<10]), with: digester)
        #expect(resumed.expected == nil)
    }

    @Test func `V01 V14 the digest of the old version is dropped with it`() async throws {
        let (name, value) = try Self.field("Repr-Digest", of: Fixture.old)
        let first = Response.file(Fixture.old).header(name, value).truncated(after: Fixture.cut)
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(.sequence([first], then: .file(Fixture.new)), in: folder, expecting: Fixture.new)
        }
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.bytes) == [Fixture.cut])
        #expect(!outcome.events.contains { if case .verified = $0 { true } else { false } })
    }

    @Test func `V14 a file from several connections is read for its digest`() async throws {
        let base64 = Data(try Checksum(of: SegmentFixture.file.body).bytes).base64EncodedString()
        for (value, isRight) in [(base64, true), (Data(repeating: 0, count: 32).base64EncodedString(), false)] {
            let outcome = try await SegmentFixture.run(
                SegmentFixture.paced.header("Repr-Digest", "sha-256=:\(value):"),
                expecting: SegmentFixture.file
            )
            #expect(outcome.events.contains(.verifying))
            #expect(outcome.isExact == isRight)
            #expect(outcome.error?.code == (isRight ? nil : .checksum))
        }
    }
}
