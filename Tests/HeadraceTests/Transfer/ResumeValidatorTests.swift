import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Whether the bytes after a cut belong to the same version as those before.
@Suite(.timeLimit(.minutes(4)))
struct ResumeValidatorTests {
    private typealias Fixture = ResumeFixture
    private let old = ResumeFixture.old
    private let new = ResumeFixture.new
    private let cut = ResumeFixture.cut

    @Test func `V01 a changed file is downloaded whole because of If-Range`() async throws {
        let outcome = try await Fixture.afterCut(.file(new), expecting: new)
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 2)
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `V02 a changed file is detected even if the server ignores If-Range`() async throws {
        var careless = new
        careless.ifRange = .ignored
        let outcome = try await Fixture.afterCut(.file(careless), expecting: new)
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `V03 without an entity tag, another date means another version`() async throws {
        var first = old
        first.etag = nil
        var second = new
        second.etag = nil
        second.lastModified = "Wed, 01 Jan 2025 01:00:00 GMT"
        let outcome = try await Fixture.afterCut(of: first, .file(second), expecting: new)
        #expect(outcome.isExact)
    }

    @Test(arguments: ["W/\"v1\"", "v1", "\"v1", ""])
    func `V04 V09 a weak or malformed tag is not sent and validates nothing`(_ tag: String) async throws {
        var weak = old
        weak.etag = tag
        let outcome = try await Fixture.afterCut(of: weak, .file(weak))
        #expect(outcome.isExact)
        #expect(outcome.ifRanges == [nil, nil])
        #expect(outcome.ranges == [nil, nil])
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `V05 a tag that became weak validates nothing`() async throws {
        var weak = old
        weak.etag = "W/\"v1\""
        weak.ifRange = .ignored
        let outcome = try await Fixture.afterCut(.file(weak))
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `V06 an old date alone is a validator and is sent unchanged`() async throws {
        var dated = old
        dated.etag = nil
        let outcome = try await Fixture.afterCut(of: dated, .file(dated))
        #expect(outcome.isExact)
        #expect(outcome.ifRanges == [nil, "Wed, 01 Jan 2025 00:00:00 GMT"])
        #expect(outcome.resumes == [cut])
    }

    @Test(arguments: ["Wed, 01 Jan 2025 00:00:00 GMT", "Wed, 01 Jan 2025 00:00:59 GMT", nil])
    func `V07 a date too close to the response is no validator`(_ date: String?) async throws {
        var dated = old
        dated.etag = nil
        dated.date = date
        let outcome = try await Fixture.afterCut(of: dated, .file(dated))
        #expect(outcome.isExact)
        #expect(outcome.resumes == [])
        #expect(outcome.restarts.count == 1)
    }

    @Test func `V07 a date does not validate the file of another redirect target`() async throws {
        var dated = old
        dated.etag = nil
        var other = Resource(size: old.body.count, seed: 99, etag: nil)
        other.lastModified = dated.lastModified
        let routes: [String: Response] = [
            "/file.bin": .sequence([.redirect(to: "/a")], then: .redirect(to: "/b")),
            "/a": .file(dated).truncated(after: cut), "/b": .file(other),
        ]
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .routes(routes),
                in: folder,
                expecting: other,
                change: { $0.destination = .file(folder.appending(path: "file.bin")) }
            )
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [])
        #expect(outcome.restarts.count == 1)
    }

    @Test func `V07 a dated file redirected elsewhere each time restarts without using up its retries`() async throws {
        var dated = old
        dated.etag = nil
        let cuts = Response.answering { [dated] request in
            // Each response ends later than the one before; range requests are redirected to another location.
            .file(dated).truncated(after: Int64(request.index + 1) * 10_000)
        }
        let turns = Response.answering { .redirect(to: $0.attempt.isMultiple(of: 2) ? "/m0" : "/m1") }
        let outcome = try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .routes(["/file.bin": turns, "/m0": cuts, "/m1": cuts]),
                in: folder,
                change: { $0.destination = .file(folder.appending(path: "file.bin")) }
            )
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [])
        #expect(outcome.restarts.count > 4)
        #expect(outcome.restarts.allSatisfy { $0.reason == .differentURL })
    }

    @Test func `V08 without a validator the download restarts`() async throws {
        var bare = old
        bare.etag = nil
        bare.lastModified = nil
        let outcome = try await Fixture.afterCut(of: bare, .file(bare))
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, nil])
    }

    @Test func `V08 without a validator a file that is cut each time fails once its retries are used up`()
        async throws
    {
        var bare = old
        bare.etag = nil
        bare.lastModified = nil
        let cut = Response.file(bare).truncated(after: 1000)
        let outcome = try await withTemporaryDirectory { try await Fixture.run(cut, in: $0, retries: 5) }
        #expect(outcome.error?.code == .connectionLost)
        #expect(outcome.requests.count == 6)
    }

    @Test func `V10 a tag that differs in each response ends with an error, not in a loop`() async throws {
        let response = Response.answering { request in
            var resource = ResumeFixture.old
            resource.etag = "\"\(request.attempt)\""
            return .file(resource).truncated(after: 1000)
        }
        let outcome = try await withTemporaryDirectory { try await Fixture.run(response, in: $0, retries: 10) }
        #expect(outcome.error?.code == .resourceChanged)
        #expect(outcome.requests.count == 5)
    }

    @Test func `V11 the same tag with another length is another version`() async throws {
        let longer = Resource(size: ResumeFixture.size + 1, seed: 2, etag: "\"v1\"")
        let outcome = try await Fixture.afterCut(.file(longer), expecting: longer)
        #expect(outcome.isExact)
    }

    @Test func `V12 a part without the tag of the first response validates nothing`() async throws {
        var bare = new
        bare.etag = nil
        bare.ifRange = .ignored
        let outcome = try await Fixture.afterCut(.file(bare), expecting: new)
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `V16 a 304 without a condition in the request is an error`() async throws {
        let outcome = try await withTemporaryDirectory { try await Fixture.run(.status(304), in: $0) }
        #expect(outcome.error?.statusCode == 304)
        #expect(outcome.names == [])
    }

    @Test func `E03 E05 encoded bytes are not resumed`() async throws {
        let encoded = Response.file(old).header("Content-Encoding", "gzip")
        let outcome = try await withTemporaryDirectory {
            try await Fixture.run(.sequence([encoded.truncated(after: cut)], then: .file(old)), in: $0)
        }
        #expect(outcome.isExact)
        #expect(outcome.resumes == [])
        let later = try await Fixture.afterCut(encoded, then: .file(old))
        #expect(later.isExact)
    }
}
