import Testing

@testable import Headrace

/// Evaluation of a 200.
@Suite(.timeLimit(.minutes(4)))
struct WholeVerdictTests {
    private func evaluate(_ changes: [String: String], for rangeRequest: RangeRequest? = nil) throws -> ResponseVerdict
    {
        .evaluate(HeadFixture.whole(changes), for: try rangeRequest ?? HeadFixture.rest())
    }

    @Test func `R01 a 200 to a plain request is accepted from byte zero`() throws {
        let body = BodyPlacement(
            offset: 0,
            length: 1000,
            totalBytes: 1000,
            framing: .length(1000),
            representation: HeadFixture.tagged,
            proof: nil
        )
        #expect(try evaluate([:], for: .whole) == .accept(body))
    }

    @Test func `R01 a 200 to a range from byte zero is accepted as the whole file`() throws {
        let verdict = try evaluate([:], for: RangeRequest(range: ByteRange(from: 0, to: 100)))
        #expect(verdict.isAccepted)
        #expect(verdict.body?.length == 1000)
    }

    @Test(arguments: ["none", ""])
    func `R16 a 200 without range support restarts from its own body`(_ units: String) throws {
        let verdict = try evaluate(["Accept-Ranges": units], for: HeadFixture.rest().withoutIfRange)
        #expect(verdict.restartReason == .rangeIgnored)
        #expect(verdict.body?.offset == 0)
        #expect(verdict.body?.length == 1000)
        var representation = HeadFixture.tagged
        representation.refusesRanges = units == "none"
        #expect(verdict.body?.representation == representation)
    }

    @Test func `a 200 with the same tag continues the received bytes if the server supports ranges`() throws {
        let body = BodyPlacement(
            offset: 400,
            skippedBytes: 400,
            length: 600,
            totalBytes: 1000,
            framing: .length(1000),
            representation: HeadFixture.tagged,
            proof: .entityTag
        )
        #expect(try evaluate([:], for: HeadFixture.rest().withoutIfRange) == .accept(body))
        // The end of the connection would not show whether the bytes after the received ones are complete.
        let unbounded = try evaluate(
            ["Content-Length": "", "Connection": "close"],
            for: HeadFixture.rest().withoutIfRange
        )
        #expect(unbounded.restartReason == .rangeIgnored)
    }

    @Test func `R16 a 200 without range support is accepted despite the date in If-Range`() throws {
        let rangeRequest = try HeadFixture.rest(of: HeadFixture.dated)
        #expect(try evaluate(["ETag": "", "Accept-Ranges": ""], for: rangeRequest).restartReason == .rangeIgnored)
        #expect(try evaluate(["ETag": ""], for: rangeRequest) == .retryWithoutIfRange)
    }

    @Test(arguments: ["bytes", ""])
    func `R17 a 200 with the same strong tag after If-Range is retried once without it`(_ units: String) throws {
        let rangeRequest = try HeadFixture.rest()
        #expect(try evaluate(["Accept-Ranges": units], for: rangeRequest) == .retryWithoutIfRange)
        let second = try evaluate(["Accept-Ranges": units], for: rangeRequest.withoutIfRange)
        #expect(second.isAccepted == (units == "bytes"))
        #expect(second.restartReason == (units == "bytes" ? nil : .rangeIgnored))
    }

    @Test func `R17 a 200 with another tag and the same length is retried only with a checksum`() throws {
        let rangeRequest = try HeadFixture.rest(deferredVerification: .checksum)
        #expect(try evaluate(["ETag": #""v2""#], for: rangeRequest) == .retryWithoutIfRange)
        #expect(try evaluate(["ETag": #""v2""#], for: rangeRequest.withoutIfRange).restartReason == .changedEntityTag)
        let longer = try evaluate(["ETag": #""v2""#, "Content-Length": "1001"], for: rangeRequest)
        #expect(longer.restartReason == .changedLength(from: 1000, to: 1001))
        #expect(longer.body?.totalBytes == 1001)
    }

    @Test(arguments: [
        ["Content-Type": "text/html", "Content-Length": "20", "ETag": ""],
        ["Content-Type": "text/html; charset=utf-8", "Content-Length": "20", "ETag": #""login""#],
        ["Content-Type": "text/html", "Content-Length": "", "Transfer-Encoding": "chunked", "ETag": ""],
        ["Content-Type": "text/html", "Content-Length": "5000", "ETag": ""],
        ["Content-Type": "application/json", "Content-Length": "399", "ETag": ""],
        ["Content-Type": "", "Content-Length": "20", "ETag": ""],
    ])
    func `R18 a login page does not replace received bytes`(_ changes: [String: String]) throws {
        let type = changes["Content-Type"]?.split(separator: ";").first.map(String.init)
        let refused = ResponseVerdict.fail(.unexpectedContent(mediaType: type))
        #expect(try evaluate(changes) == refused)
        #expect(try evaluate(changes, for: HeadFixture.again()) == refused)
        #expect(try evaluate(changes, for: HeadFixture.rest(deferredVerification: .checksum)) == refused)
    }

    @Test(arguments: [
        ["Content-Length": "20", "ETag": #""v2""#],
        ["Content-Type": "Application/ZIP; x=y", "Content-Length": "20", "ETag": #""v2""#],
        ["Content-Type": "application/gzip", "Content-Length": "5000", "ETag": #""v2""#],
    ])
    func `a shorter file or another archive type restarts the download`(_ changes: [String: String]) throws {
        let verdict = try evaluate(changes)
        #expect(verdict.body?.offset == 0)
        #expect(verdict.restartReason != nil)
        #expect(try evaluate(changes, for: HeadFixture.again()).isAccepted)
    }

    @Test func `another media type under the same strong tag is not a login page`() throws {
        #expect(try evaluate(["Content-Type": "text/html"]) == .retryWithoutIfRange)
    }

    @Test func `a page is accepted if a page was received before or nothing was`() throws {
        let page = ["Content-Type": "text/html", "Content-Length": "20", "ETag": #""v2""#]
        var known = HeadFixture.tagged
        known.contentType = "text/html; charset=utf-8"
        #expect(try evaluate(page, for: HeadFixture.again(known)).isAccepted)
        #expect(try evaluate(page, for: .whole).isAccepted)
    }

    @Test func `R23 a 200 that refuses ranges is accepted`() throws {
        let verdict = try evaluate(["Accept-Ranges": "none"])
        #expect(verdict.restartReason == .rangeIgnored)
        #expect(verdict.body?.representation.refusesRanges == true)
    }

    @Test func `R26 a 200 to a first segment reports that the range was ignored`() throws {
        let range = try #require(ByteRange(from: 0, to: 100))
        let rangeRequest = try RangeRequest(continuing: HeadFixture.tagged, with: range, heldBytes: 400).withoutIfRange
        #expect(try evaluate([:], for: rangeRequest).restartReason == .rangeIgnored)
        #expect(SegmentVerdict(HeadFixture.whole(), for: rangeRequest) == .unusable("\(RestartReason.rangeIgnored)"))
        let later = try HeadFixture.rest().withoutIfRange
        #expect(SegmentVerdict(HeadFixture.whole(), for: later) == .unusable("\(RestartReason.rangeIgnored)"))
    }

    @Test(arguments: [200, 206])
    func `a part that repeats a MiB or more is not used for a segment`(_ status: Int) throws {
        var known = HeadFixture.tagged
        known.totalBytes = 8 << 20
        let start: Int64 = 4 << 20
        let range = try #require(ByteRange(from: start, to: 8 << 20))
        let rangeRequest = try RangeRequest(continuing: known, with: range, heldBytes: start).withoutIfRange
        for (first, isUsable) in [
            (Int64(0), false), (start - 1 << 20, false), (start - 1000, status == 206), (start, true),
        ] {
            let fields = [
                "Content-Length": "\(8 << 20 - first)", "Content-Range": "bytes \(first)-\(8 << 20 - 1)/\(8 << 20)",
            ]
            let verdict = SegmentVerdict(HeadFixture.part(fields, status: status), for: rangeRequest)
            let isAccepted = if case .accept = verdict { true } else { false }
            #expect(isAccepted == isUsable)
        }
    }

    @Test func `R25 R26 a 200 to a later segment reports that the range was ignored`() throws {
        let rangeRequest = RangeRequest(range: ByteRange(from: 500, to: 1000))
        #expect(try evaluate([:], for: rangeRequest).restartReason == .rangeIgnored)
    }

    @Test func `V01 a 200 with another tag is the new version`() throws {
        let verdict = try evaluate(["ETag": #""v2""#])
        #expect(verdict.restartReason == .changedEntityTag)
        #expect(verdict.body?.representation.entityTag == #""v2""#)
    }

    @Test func `V03 a 200 with another date is the new version`() throws {
        let changes = ["ETag": "", "Last-Modified": HeadFixture.laterModified]
        let verdict = try evaluate(changes, for: HeadFixture.rest(of: HeadFixture.dated))
        #expect(verdict.restartReason == .changedLastModified)
        #expect(verdict.body?.offset == 0)
    }

    @Test func `V05 a 200 whose tag became weak is accepted from byte zero`() throws {
        #expect(try evaluate(["ETag": #"W/"v1""#]).restartReason == .validatorBecameWeak)
    }

    @Test func `V11 a 200 with the same tag and another length is the new version`() throws {
        let verdict = try evaluate(["Content-Length": "2000"])
        #expect(verdict.restartReason == .changedLength(from: 1000, to: 2000))
        #expect(verdict.body?.length == 2000)
    }

    @Test func `a 203 is the whole file and has no validator`() throws {
        var head = HeadFixture.part(["Content-Length": "1000", "Content-Range": ""], status: 203)
        let body = try #require(ResponseVerdict.evaluate(head, for: .whole).body)
        #expect(body.length == 1000 && body.offset == 0)
        #expect(EntityValidator(of: body.representation) == nil)
        head.fields.removeAll { $0.name == "ETag" }
        #expect(ResponseVerdict.evaluate(head, for: .whole).body?.representation.lastModified == nil)
        #expect(ResponseVerdict.evaluate(head, for: try HeadFixture.rest()) == .fail(.status(203)))
    }

    @Test(arguments: [HeadFixture.tagged, HeadFixture.dated])
    func `a 203 instead of a part does not replace bytes that have a validator`(_ known: RepresentationMetadata) throws
    {
        for changes in [["Content-Length": "1000", "Content-Range": ""], [:]] {
            let head = HeadFixture.part(changes, status: 203)
            let rangeRequest = try HeadFixture.rest(of: known)
            #expect(ResponseVerdict.evaluate(head, for: rangeRequest) == .fail(.status(203)))
            #expect(ResponseVerdict.evaluate(head, for: rangeRequest.withoutIfRange) == .fail(.status(203)))
        }
    }

    /// Regression: a 203 that was cut off could not be restarted, not even by a later run.
    @Test(arguments: [nil, .checksum, .overlap] as [RangeRequest.DeferredVerification?])
    func `a 203 replaces bytes without a validator, as a 200 does`(
        _ deferredVerification: RangeRequest.DeferredVerification?
    ) throws {
        let known = RepresentationMetadata(totalBytes: 1000, contentType: "application/zip")
        let rangeRequest =
            try deferredVerification.map { try HeadFixture.rest(of: known, deferredVerification: $0) }
            ?? HeadFixture.again(known)
        let changes = ["Content-Length": "1000", "Content-Range": ""]
        let verdict = ResponseVerdict.evaluate(HeadFixture.part(changes, status: 203), for: rangeRequest)
        #expect(verdict.body?.offset == 0 && verdict.body?.length == 1000)
        let reason: RestartReason? = deferredVerification == nil ? nil : .noValidator
        #expect(verdict.isAccepted == (reason == nil))
        #expect(verdict.restartReason == reason)
        // The whole file may still arrive if it was not requested yet.
        let ofPart: ResponseVerdict = reason.map { ResponseVerdict.restart($0) } ?? .fail(.status(203))
        #expect(ResponseVerdict.evaluate(HeadFixture.part(status: 203), for: rangeRequest) == ofPart)
    }

    @Test(arguments: [HeadFixture.tagged, HeadFixture.dated])
    func `a 203 to a request for the whole file replaces received bytes`(_ known: RepresentationMetadata) throws {
        let head = HeadFixture.part(["Content-Length": "1000", "Content-Range": ""], status: 203)
        #expect(ResponseVerdict.evaluate(head, for: HeadFixture.again(known)).isAccepted)
        let changes = ["Content-Length": "20", "Content-Range": "", "Content-Type": "text/html"]
        let page = HeadFixture.part(changes, status: 203)
        let refused = ResponseVerdict.fail(.unexpectedContent(mediaType: "text/html"))
        #expect(ResponseVerdict.evaluate(page, for: HeadFixture.again(known)) == refused)
    }

    @Test func `E02 E06 E07 encoded bytes are stored as they are if nothing was received before`() throws {
        for coding in ["gzip", "x-unknown", Array(repeating: "gzip", count: 50).joined(separator: ", ")] {
            let verdict = try evaluate(["Content-Encoding": coding], for: .whole)
            #expect(verdict.isAccepted)
            #expect(verdict.body?.length == 1000)
            #expect(verdict.body?.representation.contentCoding == coding)
        }
    }

    @Test func `E05 an encoded 200 instead of a part is not used, but accepted when requested again`() throws {
        #expect(try evaluate(["Content-Encoding": "gzip"]) == .restart(.contentCoding))
        #expect(try evaluate(["Content-Encoding": "gzip"], for: HeadFixture.again()).isAccepted)
    }

    @Test(arguments: [["Transfer-Encoding": "gzip, chunked"], ["Content-Length": "12abc"], ["Content-Length": "1, 2"]])
    func `E08 L05 a 200 or 206 that contradicts itself is rejected`(_ changes: [String: String]) throws {
        for head in [HeadFixture.whole(changes), HeadFixture.part(changes)] {
            for rangeRequest in [RangeRequest.whole, try HeadFixture.rest()] {
                guard case .fail(.violation(let sentence)) = ResponseVerdict.evaluate(head, for: rangeRequest) else {
                    Issue.record("\(head.status) was not refused")
                    continue
                }
                #expect(!sentence.isEmpty)
            }
        }
    }

    @Test func `L10 L13 a 200 may be empty or end with its connection`() throws {
        #expect(try evaluate(["Content-Length": "0"], for: .whole).body?.length == 0)
        let open = try evaluate(["Content-Length": ""], for: .whole)
        #expect(open.isAccepted)
        #expect(open.body?.length == nil)
        #expect(open.body?.totalBytes == nil)
        #expect(open.body?.framing == .unverified)
    }

    @Test func `a 200 with the exact Content-Range is treated as a part`() throws {
        let verdict = try evaluate(["Content-Range": "bytes 400-999/1000", "Content-Length": "600"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.offset == 400)
        #expect(verdict.body?.length == 600)
        #expect(verdict.body?.totalBytes == 1000)
    }

    @Test(
        arguments: [
            (
                ["Content-Range": "bytes 300-999/1000", "Content-Length": "700"],
                .rangeMisplaced(requested: 400, got: 300)
            ),
            (
                ["Content-Range": "bytes 500-999/1000", "Content-Length": "500"],
                .rangeMisplaced(requested: 400, got: 500)
            ),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": "599"], .invalidContentRange),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": ""], .invalidContentRange),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": "600", "ETag": #""v2""#], .changedEntityTag),
            (["Content-Range": "400-999/1000", "Content-Length": "600"], .invalidContentRange),
            (["Content-Range": "bytes */1000", "Content-Length": "600"], .invalidContentRange),
            (["Content-Type": "multipart/byteranges; boundary=x"], .multipart),
        ] as [([String: String], RestartReason)]
    )
    func `a 200 that may be a part is used neither as a part nor as the whole file`(
        _ changes: [String: String],
        _ reason: RestartReason
    ) throws {
        #expect(try evaluate(changes) == .restart(reason))
    }

    @Test(arguments: ["bytes 0-999/1000", "bytes 400-999/1000", "bytes */1000", "junk"])
    func `a 200 as long as the whole file is the whole file, whatever its Content-Range`(_ range: String) throws {
        #expect(try evaluate(["Content-Range": range]) == .retryWithoutIfRange)
        #expect(try evaluate(["Content-Range": range], for: .whole).isAccepted)
    }

    @Test func `a partial 200 to a plain request is retried`() throws {
        let part = ["Content-Range": "bytes 0-599/1000", "Content-Length": "600"]
        #expect(try evaluate(part, for: .whole) == .retry(.unrequestedRange, after: nil))
        let chunked = ["Content-Range": "bytes 0-599/1000", "Content-Length": "", "Transfer-Encoding": "chunked"]
        #expect(try evaluate(chunked, for: .whole) == .retry(.unrequestedRange, after: nil))
        let late = ["Content-Range": "bytes 400-999/*", "Content-Length": "600"]
        #expect(try evaluate(late, for: .whole) == .retry(.unrequestedRange, after: nil))
        let open = ["Content-Range": "bytes 0-599/*", "Content-Length": "600"]
        #expect(try evaluate(open, for: .whole).isAccepted)
    }
}
