import HeadracePlatform
import Testing

@testable import Headrace

/// Which content codings are requested, accepted and resumed.
@Suite(.timeLimit(.minutes(4)))
struct ContentCodingTests {
    private static let all = Set(ContentCoding.allCases)

    @Test func `only codings that the system can decode are requested`() {
        let table: [(decodable: Set<ContentCoding>, field: String)] = [
            (Self.all, "zstd, br, gzip"), ([.gzip, .deflate], "gzip"), ([.br], "br"), ([.deflate], "identity"),
            ([], "identity"),
        ]
        for (decodable, field) in table { #expect(ContentCoding.accepted(decodable: decodable) == field) }
    }

    @Test func `a body that cannot be decoded is rejected with the reason`() {
        let table: [(codings: [String], decodable: Set<ContentCoding>, word: String?)] = [
            ([], [], nil), (["gzip"], Self.all, nil), (["x-gzip"], [.gzip], nil), (["deflate"], Self.all, nil),
            (["br"], Self.all, nil), (["zstd"], Self.all, nil), (["zstd"], [.gzip, .br], "libzstd"),
            (["br"], [.gzip], "libbrotlidec"), (["gzip"], [], "zlib"), (["deflate"], [.br], "zlib"),
            (["compress"], Self.all, "compress"), (["gzip", "gzip"], Self.all, "gzip, gzip"),
            ([String(repeating: "x", count: 1000)], Self.all, "xxx"),
        ]
        for (codings, decodable, word) in table {
            let problem = ContentCoding.problem(with: codings, decodable: decodable)
            #expect((problem == nil) == (word == nil), "\(codings)")
            if let word { #expect(problem?.contains(word) == true && problem?.utf8.count ?? 0 < 300) }
        }
    }

    private func verdict(
        _ coding: String,
        part: Bool = false,
        decodable: Set<ContentCoding>? = all,
        _ changes: [String: String] = [:],
        for rangeRequest: RangeRequest = .whole
    ) -> ResponseVerdict {
        let fields = ["Content-Encoding": coding].merging(changes) { $1 }
        var head = part ? HeadFixture.part(fields) : HeadFixture.whole(fields)
        head.decodable = decodable
        return .evaluate(head, for: rangeRequest)
    }

    @Test func `a requested coding is accepted and recorded, any other fails`() throws {
        for coding in ["gzip", "br", "zstd", "x-gzip"] {
            let representation = try #require(verdict(coding).body?.representation)
            #expect(representation.contentCoding == coding && representation.isDecoded == true)
            #expect(EntityValidator(of: representation) != nil)
        }
        let plain = try #require(verdict("identity").body?.representation)
        #expect(plain.contentCoding == nil && plain.isDecoded == nil)
        let unrequested = try #require(verdict("gzip", decodable: nil).body?.representation)
        #expect(unrequested.hasUnrequestedCoding && EntityValidator(of: unrequested) == nil)
        // Some servers announce a coding for a file that is itself compressed.
        let archive = try #require(verdict("gzip", ["Content-Type": "application/gzip"]).body?.representation)
        #expect(archive.hasUnrequestedCoding)
        guard case .fail(let rejection) = verdict("gzip, gzip") else {
            Issue.record("Two codings were accepted.")
            return
        }
        #expect(rejection.error().code == .contentCoding && !rejection.error().isTransient)
    }

    private var known: RepresentationMetadata {
        var known = HeadFixture.tagged
        (known.contentCoding, known.isDecoded) = ("gzip", true)
        return known
    }

    @Test func `an encoded file resumes only with the same entity tag and the same coding`() throws {
        let rest = try HeadFixture.rest(of: known)
        #expect(rest.ifRange?.headerValue == #""v1""#)
        #expect(verdict("gzip", part: true, for: rest).body?.proof == .entityTag)
        let table: [(coding: String, fields: [String: String], reason: RestartReason)] = [
            ("br", [:], .changedContentCoding), ("identity", [:], .changedContentCoding),
            ("gzip", ["ETag": #""v2""#], .changedEntityTag), ("gzip", ["ETag": #"W/"v1""#], .validatorBecameWeak),
        ]
        for (coding, fields, reason) in table {
            #expect(verdict(coding, part: true, fields, for: rest).restartReason == reason, "\(coding) \(fields)")
        }
        // The coding of the plain file changes, and its whole body replaces the received bytes.
        let plain = try HeadFixture.rest()
        #expect(verdict("gzip", part: true, for: plain).restartReason == .changedContentCoding)
        guard case .restartFromThisBody(.changedContentCoding, _) = verdict("gzip", for: plain) else {
            Issue.record("The whole file was not accepted.")
            return
        }
    }

    @Test func `a date or a weak tag does not resume an encoded file`() {
        for (tag, date) in [(nil, HeadFixture.lastModified), (#"W/"v1""#, nil)] as [(String?, String?)] {
            var known = known
            (known.entityTag, known.lastModified) = (tag, date)
            #expect(EntityValidator(of: known) == nil)
            #expect(throws: RestartReason.self) { try HeadFixture.rest(of: known) }
        }
    }

    @Test func `checksums of the stored file do not verify an encoded response`() throws {
        let digits = String(repeating: "ab", count: 32)
        for (fields, count) in [(["X-Checksum-SHA256": digits], 1), (["Repr-Digest": "sha-256=:\(Self.base64):"], 1)] {
            #expect(DigestFields(of: HeadFixture.whole(fields)).representation.count == count)
        }
        let coded = ["Content-Encoding": "gzip", "X-Checksum-SHA256": digits]
        var head = HeadFixture.whole(coded)
        #expect(DigestFields(of: head).representation.count == 1)
        head.decodable = Self.all
        #expect(DigestFields(of: head).representation.isEmpty)
        // This one is of the encoded bytes (RFC 9530, section 3).
        let digest = ["Content-Encoding": "gzip", "Repr-Digest": "sha-256=:\(Self.base64):"]
        #expect(DigestFields(of: HeadFixture.whole(digest)).representation.count == 1)
    }

    private static let base64 = Data(repeating: 7, count: 32).base64EncodedString()

    @Test func `the limit of a decoded file is the configured one, or a multiple of its encoded size`() {
        let (mebi, gibi) = (Int64(1 << 20), Int64(1 << 30))
        let table: [(encoded: Int64, maxBytes: Int64?, limit: Int64)] = [
            (0, nil, 256 * mebi), (mebi, nil, 256 * mebi), (gibi, nil, 100 * gibi), (.max, nil, .max),
            (gibi, 5, 5), (1, 200 * gibi, 200 * gibi),
        ]
        for (encoded, maxBytes, bytes) in table {
            let limit = SizeLimit(decoding: encoded, maxBytes: maxBytes)
            #expect(throws: Never.self) { try limit.check(bytes) }
            guard bytes < .max else { continue }
            let error = #expect(throws: DownloadError.self) { try limit.check(bytes + 1) }
            #expect(error?.code == .fileTooLarge)
            #expect(error?.message.contains("suspicious") == (maxBytes == nil))
        }
    }

    @Test func `URLSession and background sessions reject a request that decodes`() throws {
        var request = TransportRequest(url: try #require(URL(string: "https://example.org/x")))
        #expect(throws: Never.self) { try URLSessionCapabilities.apple.validate(request) }
        request.acceptEncoding = "identity"
        for capabilities in [URLSessionCapabilities.apple, .corelibs] {
            let error = #expect(throws: DownloadError.self) { try capabilities.validate(request) }
            #expect(error?.code == .invalidRequest && error?.message.contains("decodesContent") == true)
        }
    }

    @Test func `an encoded download has a partial file of its own, and is saved as such`() throws {
        let folder = URL(filePath: "/home/user/", directoryHint: .isDirectory)
        let plain = DownloadRequest(try #require(URL(string: "http://h/a")), to: .directory(folder))
        var request = plain
        request.decodesContent = true
        #expect(DestinationPaths(request).partialPath != DestinationPaths(plain).partialPath)
        #expect(request.variant != plain.variant)
        for request in [plain, request] {
            let saved = RegistryRequest(request, bases: RegistryFixture.bases)
            let journal = try RegistryFixture.journal([.added([RegistryEntry(id: 1, saved, label: 0)])])
            let entry = try #require(try RegistryFixture.read(journal).snapshot.entries.first)
            let restored = try #require(entry.request.downloadRequest(in: RegistryFixture.bases))
            #expect(restored.decodesContent == request.decodesContent)
        }
    }
}
