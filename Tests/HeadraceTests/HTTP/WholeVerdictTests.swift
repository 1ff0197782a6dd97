import Testing

@testable import Headrace

/// What a 200 means.
@Suite(.timeLimit(.minutes(4)))
struct WholeVerdictTests {
    private func judge(_ changes: [String: String], for ask: RangeAsk? = nil) throws -> ResponseVerdict {
        .judge(HeadFixture.whole(changes), for: try ask ?? HeadFixture.rest())
    }

    @Test func `R01 a 200 to a plain request is taken from zero`() throws {
        let body = AcceptedBody(
            offset: 0,
            length: 1000,
            totalBytes: 1000,
            framing: .length(1000),
            representation: HeadFixture.tagged,
            proof: .nothingHeld
        )
        #expect(try judge([:], for: .whole) == .accept(body))
    }

    @Test func `R01 a 200 to a request from zero on is taken as the whole`() throws {
        let verdict = try judge([:], for: RangeAsk(range: ByteRange(from: 0, to: 100)))
        #expect(verdict.isAccepted)
        #expect(verdict.body?.length == 1000)
    }

    @Test func `R16 a 200 to a range is a restart from that same body`() throws {
        let verdict = try judge([:], for: HeadFixture.rest().withoutIfRange)
        #expect(verdict.restartReason == .rangeIgnored)
        #expect(verdict.body?.offset == 0)
        #expect(verdict.body?.length == 1000)
        #expect(verdict.body?.representation == HeadFixture.tagged)
    }

    @Test func `R16 a 200 without ranges to the date in If-Range is not asked for again`() throws {
        let ask = try HeadFixture.rest(of: HeadFixture.dated)
        #expect(try judge(["ETag": "", "Accept-Ranges": ""], for: ask).restartReason == .rangeIgnored)
        #expect(try judge(["ETag": ""], for: ask) == .askAgainWithoutIfRange)
    }

    @Test(arguments: ["bytes", ""])
    func `R17 a 200 with the same strong tag after If-Range is asked for once without it`(_ units: String) throws {
        let ask = try HeadFixture.rest()
        #expect(try judge(["Accept-Ranges": units], for: ask) == .askAgainWithoutIfRange)
        #expect(try judge(["Accept-Ranges": units], for: ask.withoutIfRange).restartReason == .rangeIgnored)
    }

    @Test func `R17 a 200 with another tag of the same length is asked for again only under a checksum`() throws {
        let ask = try HeadFixture.rest(lateProof: .checksum)
        #expect(try judge(["ETag": #""v2""#], for: ask) == .askAgainWithoutIfRange)
        #expect(try judge(["ETag": #""v2""#], for: ask.withoutIfRange).restartReason == .changedEntityTag)
        let longer = try judge(["ETag": #""v2""#, "Content-Length": "1001"], for: ask)
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
    func `R18 a login page does not replace the bytes that are held`(_ changes: [String: String]) throws {
        let type = changes["Content-Type"]?.split(separator: ";").first.map(String.init)
        let refused = ResponseVerdict.fail(.unexpectedContent(mediaType: type))
        #expect(try judge(changes) == refused)
        #expect(try judge(changes, for: HeadFixture.again()) == refused)
        #expect(try judge(changes, for: HeadFixture.rest(lateProof: .checksum)) == refused)
    }

    @Test(arguments: [
        ["Content-Length": "20", "ETag": #""v2""#],
        ["Content-Type": "Application/ZIP; x=y", "Content-Length": "20", "ETag": #""v2""#],
        ["Content-Type": "application/gzip", "Content-Length": "5000", "ETag": #""v2""#],
    ])
    func `a file that became shorter or another archive is a restart`(_ changes: [String: String]) throws {
        let verdict = try judge(changes)
        #expect(verdict.body?.offset == 0)
        #expect(verdict.restartReason != nil)
        #expect(try judge(changes, for: HeadFixture.again()).isAccepted)
    }

    @Test func `another type under the same strong tag is no login page`() throws {
        #expect(try judge(["Content-Type": "text/html"]) == .askAgainWithoutIfRange)
    }

    @Test func `a page is expected where a page was, or where nothing is held`() throws {
        let page = ["Content-Type": "text/html", "Content-Length": "20", "ETag": #""v2""#]
        var known = HeadFixture.tagged
        known.contentType = "text/html; charset=utf-8"
        #expect(try judge(page, for: HeadFixture.again(known)).isAccepted)
        #expect(try judge(page, for: .whole).isAccepted)
    }

    @Test func `R23 a 200 that says it has no ranges is taken`() throws {
        let verdict = try judge(["Accept-Ranges": "none"])
        #expect(verdict.restartReason == .rangeIgnored)
        #expect(verdict.body?.representation.refusesRanges == true)
    }

    @Test func `R26 a 200 to a first segment does not overwrite what its siblings hold unannounced`() throws {
        let range = try #require(ByteRange(from: 0, to: 100))
        let ask = try RangeAsk(continuing: HeadFixture.tagged, with: range, heldBytes: 400).withoutIfRange
        #expect(try judge([:], for: ask).restartReason == .rangeIgnored)
    }

    @Test func `R25 R26 a 200 to a later segment says that the range was ignored`() throws {
        let ask = RangeAsk(range: ByteRange(from: 500, to: 1000))
        #expect(try judge([:], for: ask).restartReason == .rangeIgnored)
    }

    @Test func `V01 a 200 with another tag is the new version`() throws {
        let verdict = try judge(["ETag": #""v2""#])
        #expect(verdict.restartReason == .changedEntityTag)
        #expect(verdict.body?.representation.entityTag == #""v2""#)
    }

    @Test func `V03 a 200 with another date is the new version`() throws {
        let changes = ["ETag": "", "Last-Modified": HeadFixture.laterModified]
        let verdict = try judge(changes, for: HeadFixture.rest(of: HeadFixture.dated))
        #expect(verdict.restartReason == .changedLastModified)
        #expect(verdict.body?.offset == 0)
    }

    @Test func `V05 a 200 whose tag became weak is taken from zero`() throws {
        #expect(try judge(["ETag": #"W/"v1""#]).restartReason == .validatorBecameWeak)
    }

    @Test func `V11 a 200 with the same tag and another length is the new version`() throws {
        let verdict = try judge(["Content-Length": "2000"])
        #expect(verdict.restartReason == .changedLength(from: 1000, to: 2000))
        #expect(verdict.body?.length == 2000)
    }

    @Test func `a 203 is the whole, and nothing in it proves anything`() throws {
        var head = HeadFixture.part(["Content-Length": "1000", "Content-Range": ""], status: 203)
        let body = try #require(ResponseVerdict.judge(head, for: .whole).body)
        #expect(body.length == 1000 && body.offset == 0)
        #expect(EntityValidator(of: body.representation) == nil)
        head.fields.removeAll { $0.name == "ETag" }
        #expect(ResponseVerdict.judge(head, for: .whole).body?.representation.lastModified == nil)
        #expect(ResponseVerdict.judge(head, for: try HeadFixture.rest()) == .fail(.status(203)))
    }

    @Test(arguments: [HeadFixture.tagged, HeadFixture.dated])
    func `a 203 in place of the rest does not replace bytes that can be proven`(_ known: Representation) throws {
        for changes in [["Content-Length": "1000", "Content-Range": ""], [:]] {
            let head = HeadFixture.part(changes, status: 203)
            let ask = try HeadFixture.rest(of: known)
            #expect(ResponseVerdict.judge(head, for: ask) == .fail(.status(203)))
            #expect(ResponseVerdict.judge(head, for: ask.withoutIfRange) == .fail(.status(203)))
        }
    }

    /// Once a 203 that was cut could not be begun again, in no later run either.
    @Test(arguments: [nil, .checksum, .overlap] as [RangeAsk.LateProof?])
    func `a 203 replaces bytes that nothing proves, as a 200 does`(_ lateProof: RangeAsk.LateProof?) throws {
        let known = Representation(totalBytes: 1000, contentType: "application/zip")
        let ask = try lateProof.map { try HeadFixture.rest(of: known, lateProof: $0) } ?? HeadFixture.again(known)
        let changes = ["Content-Length": "1000", "Content-Range": ""]
        let verdict = ResponseVerdict.judge(HeadFixture.part(changes, status: 203), for: ask)
        #expect(verdict.body?.offset == 0 && verdict.body?.length == 1000)
        let reason: RestartReason? = lateProof == nil ? nil : .noValidator
        #expect(verdict.isAccepted == (reason == nil))
        #expect(verdict.restartReason == reason)
        // The whole may still come, where it has not been asked for.
        let ofPart: ResponseVerdict = reason.map { ResponseVerdict.restart($0) } ?? .fail(.status(203))
        #expect(ResponseVerdict.judge(HeadFixture.part(status: 203), for: ask) == ofPart)
    }

    @Test(arguments: [HeadFixture.tagged, HeadFixture.dated])
    func `a 203 to a request for the whole replaces bytes that are of no use`(_ known: Representation) throws {
        let head = HeadFixture.part(["Content-Length": "1000", "Content-Range": ""], status: 203)
        #expect(ResponseVerdict.judge(head, for: HeadFixture.again(known)).isAccepted)
        let changes = ["Content-Length": "20", "Content-Range": "", "Content-Type": "text/html"]
        let page = HeadFixture.part(changes, status: 203)
        let refused = ResponseVerdict.fail(.unexpectedContent(mediaType: "text/html"))
        #expect(ResponseVerdict.judge(page, for: HeadFixture.again(known)) == refused)
    }

    @Test func `E02 E06 E07 encoded bytes are taken as they are where nothing is held`() throws {
        for coding in ["gzip", "x-unknown", Array(repeating: "gzip", count: 50).joined(separator: ", ")] {
            let verdict = try judge(["Content-Encoding": coding], for: .whole)
            #expect(verdict.isAccepted)
            #expect(verdict.body?.length == 1000)
            #expect(verdict.body?.representation.contentCoding == coding)
        }
    }

    @Test func `E05 an encoded 200 in place of the rest is not used, but taken when asked for again`() throws {
        #expect(try judge(["Content-Encoding": "gzip"]) == .restart(.contentCoding))
        #expect(try judge(["Content-Encoding": "gzip"], for: HeadFixture.again()).isAccepted)
    }

    @Test(arguments: [["Transfer-Encoding": "gzip, chunked"], ["Content-Length": "12abc"], ["Content-Length": "1, 2"]])
    func `E08 L05 a 200 or 206 that contradicts itself is refused`(_ changes: [String: String]) throws {
        for head in [HeadFixture.whole(changes), HeadFixture.part(changes)] {
            for ask in [RangeAsk.whole, try HeadFixture.rest()] {
                guard case .fail(.violation(let sentence)) = ResponseVerdict.judge(head, for: ask) else {
                    Issue.record("\(head.status) was not refused")
                    continue
                }
                #expect(!sentence.isEmpty)
            }
        }
    }

    @Test func `L10 L13 a 200 may be empty or end with its connection`() throws {
        #expect(try judge(["Content-Length": "0"], for: .whole).body?.length == 0)
        let open = try judge(["Content-Length": ""], for: .whole)
        #expect(open.isAccepted)
        #expect(open.body?.length == nil)
        #expect(open.body?.totalBytes == nil)
        #expect(open.body?.framing == .unverified)
    }

    @Test func `a 200 with the exact Content-Range is the part that it is`() throws {
        let verdict = try judge(["Content-Range": "bytes 400-999/1000", "Content-Length": "600"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.offset == 400)
        #expect(verdict.body?.length == 600)
        #expect(verdict.body?.totalBytes == 1000)
    }

    @Test(
        arguments: [
            (["Content-Range": "bytes 300-999/1000", "Content-Length": "700"], .rangeMisplaced(asked: 400, got: 300)),
            (["Content-Range": "bytes 500-999/1000", "Content-Length": "500"], .rangeMisplaced(asked: 400, got: 500)),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": "599"], .invalidContentRange),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": ""], .invalidContentRange),
            (["Content-Range": "bytes 400-999/1000", "Content-Length": "600", "ETag": #""v2""#], .changedEntityTag),
            (["Content-Range": "400-999/1000", "Content-Length": "600"], .invalidContentRange),
            (["Content-Range": "bytes */1000", "Content-Length": "600"], .invalidContentRange),
            (["Content-Type": "multipart/byteranges; boundary=x"], .multipart),
        ] as [([String: String], RestartReason)]
    )
    func `a 200 that may be a part is used neither as one nor as the whole`(
        _ changes: [String: String],
        _ reason: RestartReason
    ) throws {
        #expect(try judge(changes) == .restart(reason))
    }

    @Test(arguments: ["bytes 0-999/1000", "bytes 400-999/1000", "bytes */1000", "junk"])
    func `a 200 as long as the whole is the whole, whatever its Content-Range`(_ range: String) throws {
        #expect(try judge(["Content-Range": range]) == .askAgainWithoutIfRange)
        #expect(try judge(["Content-Range": range], for: .whole).isAccepted)
    }

    @Test func `a 200 to a plain request that is a part is asked for again`() throws {
        let part = ["Content-Range": "bytes 0-599/1000", "Content-Length": "600"]
        #expect(try judge(part, for: .whole) == .retry(.partNotAskedFor, after: nil))
        let chunked = ["Content-Range": "bytes 0-599/1000", "Content-Length": "", "Transfer-Encoding": "chunked"]
        #expect(try judge(chunked, for: .whole) == .retry(.partNotAskedFor, after: nil))
        let late = ["Content-Range": "bytes 400-999/*", "Content-Length": "600"]
        #expect(try judge(late, for: .whole) == .retry(.partNotAskedFor, after: nil))
        let open = ["Content-Range": "bytes 0-599/*", "Content-Length": "600"]
        #expect(try judge(open, for: .whole).isAccepted)
    }
}
