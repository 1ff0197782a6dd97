import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct SourceListTests {
    private func sources(_ names: String...) throws -> SourceList {
        let urls = try names.map { try #require(URL(string: "http://\($0)/x")) }
        var request = DownloadRequest(urls[0], to: .directory(URL(filePath: "/")))
        request.mirrors = Array(urls.dropFirst())
        return SourceList(request)
    }

    private func refusal(_ status: Int) -> DownloadError {
        ResponseRejection.status(status).error(isTransient: status >= 500)
    }

    @Test func `sources are requested in order, each once`() throws {
        var sources = try sources("a", "b", "a", "b", "c")
        #expect(sources.current.host() == "a")
        #expect(try sources.next(after: refusal(404)).host() == "b")
        #expect(try sources.next(after: DownloadError(.connectionLost, "Cut.")).host() == "c")
        #expect(throws: DownloadError.self) { try sources.next(after: refusal(404)) }
    }

    @Test func `added sources are requested after the others, known ones are ignored`() throws {
        var sources = try sources("a", "b")
        #expect(sources.hasNext)
        try sources.join(["b", "c", "a", "c"].map { try #require(URL(string: "http://\($0)/x")) })
        #expect(try sources.next(after: refusal(404)).host() == "b")
        #expect(try sources.next(after: DownloadError(.checksum, "Wrong.")).host() == "c")
        #expect(!sources.hasNext)
        sources.join([sources.current])
        #expect(!sources.hasNext)
    }

    @Test func `a source that cannot respond now is requested again after the others`() throws {
        var sources = try sources("a", "b", "c")
        #expect(sources.leavesAtOnce(refusal(503)))
        #expect(try sources.next(after: refusal(503)).host() == "b")
        #expect(try sources.next(after: refusal(500)).host() == "c")
        // On its second turn, the source has its own retries.
        #expect(!sources.leavesAtOnce(refusal(503)))
        #expect(try sources.next(after: refusal(404)).host() == "a")
        #expect(try sources.next(after: refusal(503)).host() == "b")
        let error = try #require(throws: DownloadError.self) { try sources.next(after: refusal(503)) }
        #expect(error.code == .httpStatus && error.statusCode == nil)
    }

    @Test func `while a source requires a wait, an untried one is next, then a postponed one that is ready`() throws {
        var sources = try sources("a", "b", "c")
        #expect(sources.postpone { _ in false }?.host() == "b")
        #expect(sources.postpone { _ in false }?.host() == "c")
        #expect(sources.postpone { _ in false } == nil)
        #expect(sources.postpone { $0.host() == "b" }?.host() == "b")
        #expect(sources.others.map { $0.host() } == ["a", "c"])
    }

    @Test func `a new link is still the origin's after a mirror was tried, and keeps its expiry`() throws {
        var sources = try sources("a", "b")
        let link = DownloadRequest.Link(
            try #require(URL(string: "http://new/x")),
            expires: Date(timeIntervalSince1970: 1)
        )
        sources.renew(link)
        #expect(sources.isOrigin && sources.expires == link.expires)
        #expect(sources.postpone { _ in false }?.host() == "b")
        #expect(!sources.isOrigin && sources.expires == nil)
        sources.join([link.url])
        #expect(sources.others == [link.url])
        #expect(try sources.next(after: refusal(404)) == link.url)
        #expect(sources.isOrigin && !sources.isFirst && sources.expires == link.expires)
    }

    @Test(arguments: [
        (403, true), (404, true), (410, true), (500, true), (503, true), (599, true), (400, false), (401, false),
        (429, false),
    ])
    func `a source that refuses is abandoned at once, if there is another`(_ status: Int, _ isLeft: Bool) throws {
        #expect(try sources("a", "b").leavesAtOnce(refusal(status)) == isLeft)
        #expect(try !sources("a").leavesAtOnce(refusal(status)))
    }

    @Test func `after a 429 with Retry-After, the next source is on another host`() throws {
        var refusal = refusal(429)
        #expect(try !sources("a", "b").leavesAtOnce(refusal))
        refusal.retryAfter = .seconds(60)
        var sources = try sources("a", "A", "b")
        #expect(sources.leavesAtOnce(refusal))
        #expect(try sources.next(after: refusal).host() == "b")
        #expect(try !self.sources("a", "A").leavesAtOnce(refusal))
    }

    @Test(arguments: [DownloadError.Code.connection, .nameResolution, .stalled])
    func `an unreachable or silent source is abandoned at once, unless bytes of it are downloaded`(
        _ code: DownloadError.Code
    ) throws {
        var sources = try sources("a", "b")
        let error = DownloadError(code, "No.")
        #expect(!sources.leavesAtOnce(error, holdingBytes: true))
        #expect(sources.leavesAtOnce(error))
        #expect(try sources.next(after: error).host() == "b")
        #expect(!sources.leavesAtOnce(error))
        // The source may be reachable again.
        #expect(try sources.next(after: refusal(404)).host() == "a")
    }

    @Test(arguments: [DownloadError.Code.diskFull, .permission, .fileExists, .fileTooLarge, .timedOut, .shutDown])
    func `a failure that is not the source's is not tried elsewhere`(_ code: DownloadError.Code) throws {
        var sources = try sources("a", "b")
        let error = try #require(throws: DownloadError.self) { try sources.next(after: DownloadError(code, "No.")) }
        #expect(error == DownloadError(code, "No."))
    }

    @Test func `a single source fails with its own error, several with one that names them all`() throws {
        var one = try sources("a")
        #expect(throws: refusal(404)) { try one.next(after: refusal(404)) }
        var two = try sources("a", "u:p@b")
        _ = try two.next(after: refusal(404))
        let error = try #require(throws: DownloadError.self) { try two.next(after: refusal(404)) }
        #expect(error.statusCode == 404)
        #expect(
            error.message
                == "None of the 2 sources delivered the file. http://a/x: The server responded with status 404, Not Found; "
                + "http://b/x: The server responded with status 404, Not Found."
        )
    }

    @Test(arguments: [["a", "b"], ["b", "a"]])
    func `a wrong file decides the error, whatever the order of the sources`(_ hosts: [String]) throws {
        var sources = try sources(hosts[0], hosts[1], "c")
        var wrong = DownloadError(.checksum, "Wrong.")
        wrong.savedFile = URL(filePath: "/x.mismatch")
        var errors = hosts.map { $0 == "a" ? refusal(404) : wrong }
        _ = try sources.next(after: errors.removeFirst())
        _ = try sources.next(after: errors.removeFirst())
        let error = try #require(throws: DownloadError.self) { try sources.next(after: refusal(404)) }
        #expect(error.code == .checksum && error.statusCode == nil)
        #expect(error.savedFile == wrong.savedFile)
    }

    @Test(arguments: 0..<200)
    func `every random walk over the sources ends`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var sources = try sources("a", "b", "c", "d", "e")
        var count = 0
        while (try? sources.next(after: refusal([404, 500, 401].randomElement(using: &random) ?? 0))) != nil {
            count += 1
            try #require(count < 10)
        }
        #expect(sources.failures.count == 5)
        #expect(count >= 4)
    }
}
