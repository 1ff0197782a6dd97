import Testing

@testable import Headrace

/// Invariants of the evaluation for every response: the rules restated over all combinations of a table.
@Suite(.timeLimit(.minutes(4)), .computing)
struct VerdictInvariantTests {
    private static let heads: [ResponseHead] = {
        var heads = [[String: String]()]
        let table = [
            ("ETag", ["", #""v1""#, #""v2""#, #"W/"v1""#]),
            ("Last-Modified", ["", HeadFixture.lastModified, HeadFixture.laterModified]),
            (
                "Content-Range",
                [
                    "", "bytes 400-999/1000", "bytes 300-999/1000", "bytes 400-499/*", "bytes 500-999/1000",
                    "bytes 0-999/1000", "bytes 400-999/1005", "bytes */1000", "bytes 400-1000/*",
                ]
            ),
            ("Content-Length", ["", "600", "700", "1000"]),
            ("Content-Encoding", ["", "gzip"]),
            ("Content-Type", ["application/zip", "text/html", "multipart/byteranges"]),
        ]
        for (name, values) in table {
            heads = heads.flatMap { head in values.map { value in head.merging([name: value]) { $1 } } }
        }
        return heads.flatMap { [HeadFixture.part($0), HeadFixture.part($0, status: 200)] }
    }()

    private func only(_ name: String, _ head: ResponseHead) -> String? { head.values(name).first }

    @Test func `V02 R05 R08 nothing is appended without the recorded tag and position`() throws {
        let rangeRequest = try HeadFixture.rest()
        var count = 0
        for head in Self.heads {
            guard case .accept(let body) = ResponseVerdict.evaluate(head, for: rangeRequest) else { continue }
            count += 1
            #expect(only("etag", head) == #""v1""#)
            #expect(only("last-modified", head) != HeadFixture.laterModified)
            #expect(only("content-encoding", head) == nil)
            #expect(body.offset == 400)
            #expect(body.totalBytes == 1000)
            let range = try #require(only("content-range", head))
            #expect(range.hasPrefix("bytes \(400 - body.skippedBytes)-"))
            if let announced = body.framing.length {
                #expect(body.length.map { $0 + body.skippedBytes } == announced)
            }
        }
        #expect(count > 10)
    }

    @Test func `R16 R18 only a 200 with a whole file replaces received bytes`() throws {
        for rangeRequest in [
            try HeadFixture.rest(), try HeadFixture.rest(deferredVerification: .checksum), HeadFixture.again(),
        ] {
            for head in Self.heads {
                let verdict = ResponseVerdict.evaluate(head, for: rangeRequest)
                guard let body = verdict.body, body.offset == 0 else { continue }
                #expect(head.status == 200)
                #expect(only("content-type", head) != "text/html" || only("etag", head) == #""v1""#)
                #expect(body.skippedBytes == 0)
                #expect(body.length == body.framing.length)
                let range = only("content-range", head)
                // A 200 to a plain request is the whole file, even with a Content-Range without positions.
                if let range, rangeRequest.range != nil || range != "bytes */1000" {
                    #expect(body.length == 1000 || body.length == nil && range == "bytes 0-999/1000")
                }
            }
        }
    }

    @Test func `V10 R17 a request without If-Range is never retried without it again`() throws {
        for rangeRequest in [try HeadFixture.rest(), try HeadFixture.rest(deferredVerification: .checksum)] {
            for head in Self.heads {
                #expect(ResponseVerdict.evaluate(head, for: rangeRequest.withoutIfRange) != .retryWithoutIfRange)
            }
        }
    }

    @Test func `with a checksum, no part of another length or coding is appended`() throws {
        let rangeRequest = try HeadFixture.rest(
            of: RepresentationMetadata(totalBytes: 1000),
            deferredVerification: .checksum
        )
        for head in Self.heads {
            guard case .accept(let body) = ResponseVerdict.evaluate(head, for: rangeRequest) else { continue }
            #expect(body.totalBytes == 1000)
            #expect(body.offset == 400)
            #expect(only("content-encoding", head) == nil)
        }
    }
}
