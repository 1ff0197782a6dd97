import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Cases from curl's own test suite that concern file downloads.
@Suite(.timeLimit(.minutes(4)))
struct CurlTests {
    @Test(arguments: CurlCase.all)
    func `a case from curl's suite has the expected outcome`(_ row: CurlCase) async throws {
        let response = Response.answering { row.responses[min($0.index, row.responses.count - 1)] }
        try await withTemporaryDirectory { folder in
            for name in row.existing { try Data("old".utf8).write(to: folder.appending(path: name)) }
            try await withFaultServer(response) { server in
                let outcome = try await ResumeFixture.run(
                    from: server,
                    in: folder,
                    retries: 2,
                    change: { $0.url = server.url("/want/file.bin") }
                )
                switch row.expectation {
                case .file(let name, let body, let requests):
                    #expect(outcome.error == nil)
                    #expect(outcome.names == (row.existing + [name]).sorted())
                    #expect(body.difference(fromFileAt: folder.appending(path: name)) == nil)
                    #expect(outcome.requests.count == requests)
                case .failure(let code, let status, let requests, let keepsBytes):
                    #expect(outcome.error?.code == code, "\(String(describing: outcome.error))")
                    #expect(outcome.error?.statusCode == status)
                    // A partial file and its record.
                    #expect(outcome.names.count == row.existing.count + (keepsBytes ? 2 : 0))
                    #expect(outcome.requests.count == requests)
                }
                #expect(outcome.requests.last?.target == row.lastTarget)
            }
        }
    }

    private static let again: [(number: Int, what: String, first: Resource, second: Response, isUnchanged: Bool)] = [
        (77, "a newer file where the condition is not known", old, .whole(RefetchFixture.new), false),
        (78, "the same file where the condition is not known", old, .whole(old), true),
        (
            249, "304 with a length", old,
            .status(304, headers: ["Content-Length": "677777", "ETag": "\"v1\""]), true
        ),
        (339, "a weak entity tag", tagged("W/\"v1\""), .file(tagged("W/\"v1\"")), true),
        (347, "an entity tag that is empty", tagged(" "), .file(tagged(" ")), false),
        (1566, "304", old, .status(304, headers: ["ETag": "\"v1\""]), true),
    ]

    private static let old = RefetchFixture.old

    private static func tagged(_ etag: String) -> Resource {
        var resource = old
        (resource.etag, resource.lastModified) = (etag, nil)
        return resource
    }

    @Test(.enabled(if: RefetchFixture.keepsAttributes, "no extended attributes here"), arguments: again.indices)
    func `a case from curl's suite with an existing file has the expected outcome`(_ index: Int) async throws {
        let row = Self.again[index]
        try await RefetchFixture.run(.sequence([.file(row.first)], then: row.second)) { fixture in
            #expect(try await fixture.fetch().isFinished)
            let outcome = try await fixture.fetch()
            #expect(outcome.error == nil)
            #expect(outcome.isUnchanged == row.isUnchanged, "curl \(row.number), \(row.what)")
            #expect(try fixture.names == ["file.bin"])
        }
    }
}
