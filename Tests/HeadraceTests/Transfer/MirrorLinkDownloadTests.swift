import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Mirrors advertised in a response (RFC 6249).
@Suite(.timeLimit(.minutes(4)))
struct MirrorLinkDownloadTests {
    private typealias Fixture = ResumeFixture
    private let cut = Fixture.cut

    private func digest(of resource: Resource) throws -> String {
        "sha-256=:\(Data(try Checksum(of: resource.body).bytes).base64EncodedString()):"
    }

    /// The origin's first response advertises the mirrors and is cut, and its later responses are errors.
    private func run(
        _ mirrors: [String: Response],
        digest: String? = nil,
        first: Response = Response.file(Fixture.old).truncated(after: Fixture.cut),
        second: [Response] = [],
        expecting expected: Resource = Fixture.old,
        links: String? = nil,
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        let links = links ?? mirrors.keys.sorted().map { "<\($0)>; rel=duplicate" }.joined(separator: ", ")
        var first = first.header("Link", links)
        if let digest { first = first.header("Repr-Digest", digest) }
        var routes = mirrors
        routes["/file.bin"] = .sequence([first] + second, then: .status(404))
        return try await withTemporaryDirectory { folder in
            try await Fixture.run(
                .routes(routes),
                in: folder,
                expecting: expected,
                retries: 1,
                change: change
            )
        }
    }

    @Test func `an advertised mirror continues the download, and the digest verifies it`() async throws {
        let outcome = try await run(["/m": .file(Fixture.old)], digest: try digest(of: Fixture.old))
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.requests.map(\.path) == ["/file.bin", "/file.bin", "/m"])
        #expect(outcome.resumes == [cut])
        #expect(outcome.events.contains(.verified(try Checksum(of: Fixture.old.body))))
    }

    @Test func `a checksum of the request allows advertised mirrors as well`() async throws {
        let expected = try Checksum(of: Fixture.old.body)
        let outcome = try await run(["/m": .file(Fixture.old)]) { $0.checksums = [expected] }
        #expect(outcome.isExact)
        #expect(outcome.requests.last?.path == "/m")
    }

    @Test func `without a checksum advertised mirrors are not requested`() async throws {
        let outcome = try await run(["/m": .file(Fixture.old)])
        #expect(outcome.error?.statusCode == 404)
        #expect(outcome.requests.map(\.path) == ["/file.bin", "/file.bin"])
    }

    /// Regression: the mirror was requested, although its bytes belong to the earlier version.
    @Test func `a mirror advertised with an old version is no longer requested`() async throws {
        let changed = Response.file(Fixture.new).truncated(after: cut + 50_000)
        let outcome = try await run(["/m": .file(Fixture.old)], digest: try digest(of: Fixture.old), second: [changed])
        #expect(outcome.error?.statusCode == 404)
        #expect(outcome.requests.map(\.path) == ["/file.bin", "/file.bin", "/file.bin"])
    }

    /// A digest that a mirror sends for its own file validates nothing.
    @Test func `a mirror with another file is abandoned, whatever digest it sends`() async throws {
        var other = Fixture.new
        other.etag = Fixture.old.etag
        let lying = Response.file(other).header("Repr-Digest", try digest(of: other))
        let outcome = try await run(["/m": lying, "/n": .file(Fixture.old)], digest: try digest(of: Fixture.old))
        #expect(outcome.isExact, "\(outcome.events)")
        // The lying mirror is requested once for the missing bytes, and once for the whole file.
        #expect(outcome.requests.map(\.path) == ["/file.bin", "/file.bin", "/m", "/m", "/n"])
        let outcomeOfLies = try await run(["/m": lying], digest: try digest(of: Fixture.old))
        #expect(outcomeOfLies.error != nil)
        #expect(outcomeOfLies.names == ["file.bin.mismatch"])
    }

    @Test func `D06 no field of the request is sent to an advertised mirror`() async throws {
        try await withFaultServer(.file(Fixture.old)) { mirror in
            let outcome = try await run(
                [:],
                digest: try digest(of: Fixture.old),
                links: "<\(mirror.url("/m").absoluteString)>; rel=duplicate"
            ) {
                $0.headers = [
                    HeaderField(name: "Authorization", value: "Basic x"), HeaderField(name: "X-Token", value: "y"),
                ]
            }
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(outcome.requests.allSatisfy { $0["Authorization"] == "Basic x" })
            #expect(outcome.requests.allSatisfy { $0["X-Token"] == "y" })
            #expect(mirror.requests.map { $0["Authorization"] ?? $0["X-Token"] } == [nil])
        }
    }
}
