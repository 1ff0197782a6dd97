import HeadracePlatform
import Testing

@testable import Headrace

/// Evaluation of a 206.
@Suite(.timeLimit(.minutes(4)))
struct PartVerdictTests {
    private func evaluate(_ changes: [String: String], for rangeRequest: RangeRequest? = nil) throws -> ResponseVerdict
    {
        .evaluate(HeadFixture.part(changes), for: try rangeRequest ?? HeadFixture.rest())
    }

    @Test func `R02 the remaining bytes with the same tag are appended`() throws {
        let body = BodyPlacement(
            offset: 400,
            length: 600,
            totalBytes: 1000,
            framing: .length(600),
            representation: HeadFixture.tagged,
            proof: .entityTag
        )
        #expect(try evaluate([:]) == .accept(body))
    }

    @Test func `a date does not validate a part from another URL, but a tag does`() throws {
        let requested = try #require(URL(string: "http://a.example/x?signature=1"))
        for (known, text, isAccepted) in [
            (HeadFixture.dated, "http://a.example/x?signature=2", true),
            (HeadFixture.dated, "http://b.example/x", false), (HeadFixture.dated, "http://a.example/y", false),
            (HeadFixture.dated, "http://a.example:81/x", false),
            (HeadFixture.dated, "https://a.example/x", false), (HeadFixture.tagged, "http://b.example/x", true),
        ] {
            var known = known
            known.locationFingerprint = RepresentationMetadata.locationFingerprint(of: requested)
            let own = HeadFixture.part(known.entityTag == nil ? ["ETag": ""] : [:])
            let url = try #require(URL(string: text))
            let part = ResponseHead(url: url, status: own.status, fields: own.fields)
            let verdict = ResponseVerdict.evaluate(part, for: try HeadFixture.rest(of: known))
            #expect(verdict.isAccepted == isAccepted, "\(text)")
            if !isAccepted { #expect(verdict.restartReason == .differentURL) }
        }
    }

    @Test func `R05 a 206 that starts 100 bytes early is appended without its first bytes`() throws {
        let verdict = try evaluate(["Content-Range": "bytes 300-999/1000", "Content-Length": "700"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.offset == 400)
        #expect(verdict.body?.skippedBytes == 100)
        #expect(verdict.body?.length == 600)
    }

    @Test func `R05 a 206 that starts early and fails validation is not used`() throws {
        let changes = ["Content-Range": "bytes 300-999/1000", "Content-Length": "700", "ETag": #""v2""#]
        #expect(try evaluate(changes) == .restart(.changedEntityTag))
    }

    @Test(arguments: [("bytes 401-999/1000", 401), ("bytes 999-999/1000", 999), ("bytes 0-399/1000", 0)])
    func `R06 a 206 that omits the first requested byte is not used`(_ range: String, _ got: Int64) throws {
        #expect(try evaluate(["Content-Range": range]) == .restart(.rangeMisplaced(requested: 400, got: got)))
    }

    @Test func `R07 a 206 without Content-Range is not used`() throws {
        #expect(try evaluate(["Content-Range": ""]) == .restart(.missingContentRange))
        #expect(
            try evaluate(["Content-Range": "", "Content-Length": "", "Transfer-Encoding": "chunked"])
                == .restart(.missingContentRange)
        )
    }

    @Test(arguments: [
        "bytes 9-5/100", "bytes 0-99/50", "bytes 400-999", "bytes */1000", "400-999/1000", "items=400-999/1000",
        "bytes 400-9223372036854775807/*",
    ])
    func `R08 a 206 with an invalid Content-Range is not used`(_ range: String) throws {
        #expect(try evaluate(["Content-Range": range]) == .restart(.invalidContentRange))
    }

    @Test func `R08 a 206 with two different ranges is not used`() throws {
        var head = HeadFixture.part()
        head.fields.append(HeaderField(name: "content-range", value: "bytes 0-599/1000"))
        #expect(ResponseVerdict.evaluate(head, for: try HeadFixture.rest()) == .restart(.invalidContentRange))
    }

    @Test func `R09 a 206 with another range unit is not used`() throws {
        #expect(try evaluate(["Content-Range": "items 400-999/1000"]) == .restart(.invalidContentRange))
    }

    @Test func `R10 a 206 of unknown total length is appended and the recorded total is kept`() throws {
        let verdict = try evaluate(["Content-Range": "bytes 400-999/*"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.totalBytes == 1000)
        #expect(verdict.body?.representation.totalBytes == 1000)
    }

    @Test func `R10 a 206 of unknown total length beyond the recorded one is another version`() throws {
        let verdict = try evaluate(["Content-Range": "bytes 400-1000/*", "Content-Length": "601"])
        #expect(verdict == .restart(.changedLength(from: 1000, to: 1001)))
    }

    @Test func `R11 a 206 shorter than requested is accepted as far as it goes`() throws {
        let verdict = try evaluate(["Content-Range": "bytes 400-499/1000", "Content-Length": "100"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.length == 100)
        #expect(verdict.body?.totalBytes == 1000)
    }

    @Test func `a 206 longer than requested is used up to the end of the request`() throws {
        let verdict = try evaluate([:], for: HeadFixture.rest(to: 500))
        #expect(verdict.isAccepted)
        #expect(verdict.body?.length == 100)
        #expect(verdict.body?.framing == .length(600))
    }

    @Test(arguments: ["bytes 400-999/1005", "bytes 400-899/900"])
    func `R12 a 206 of another total length is another version, even with the same tag`(_ range: String) throws {
        let total = try #require(Int64(range.split(separator: "/")[1]))
        #expect(try evaluate(["Content-Range": range]) == .restart(.changedLength(from: 1000, to: total)))
        let rangeRequest = try HeadFixture.rest(deferredVerification: .checksum)
        #expect(
            try evaluate(["Content-Range": range], for: rangeRequest) == .restart(.changedLength(from: 1000, to: total))
        )
    }

    @Test(arguments: [599, 601, 1000, 0])
    func `R13 a 206 whose length contradicts its range is requested again`(_ length: Int64) throws {
        #expect(
            try evaluate(["Content-Length": "\(length)"])
                == .retry(.lengthMismatch(announced: length, range: 400..<1000), after: nil)
        )
    }

    @Test(arguments: ["multipart/byteranges; boundary=x", "Multipart/ByteRanges;boundary=x", "multipart/byteranges"])
    func `R14 a multipart response to a single range is not used`(_ type: String) throws {
        #expect(try evaluate(["Content-Type": type]) == .restart(.multipart))
        #expect(try evaluate(["Content-Type": type, "Content-Range": ""]) == .restart(.multipart))
    }

    @Test func `R15 a 206 to a request without a range is requested again`() throws {
        #expect(try evaluate([:], for: .whole) == .retry(.unrequestedRange, after: nil))
        #expect(try evaluate([:], for: HeadFixture.again()) == .retry(.unrequestedRange, after: nil))
    }

    @Test func `R24 a 206 without Accept-Ranges is accepted`() throws {
        #expect(try evaluate(["Accept-Ranges": ""]).isAccepted)
    }

    @Test func `R27 V02 a 206 with another tag is another version`() throws {
        #expect(try evaluate(["ETag": #""v2""#]) == .restart(.changedEntityTag))
        #expect(try evaluate(["ETag": #""V1""#]) == .restart(.changedEntityTag))
        #expect(try evaluate(["ETag": "v1"]) == .restart(.changedEntityTag))
    }

    @Test func `V03 a 206 with another date is another version`() throws {
        let changes = ["ETag": "", "Last-Modified": HeadFixture.laterModified]
        #expect(try evaluate(changes, for: HeadFixture.rest(of: HeadFixture.dated)) == .restart(.changedLastModified))
        #expect(try evaluate(["Last-Modified": HeadFixture.laterModified]) == .restart(.changedLastModified))
    }

    @Test func `V05 a 206 whose tag became weak is not used`() throws {
        #expect(try evaluate(["ETag": #"W/"v1""#]) == .restart(.validatorBecameWeak))
        #expect(try evaluate(["ETag": #"W/"v2""#]) == .restart(.changedEntityTag))
    }

    @Test func `V06 a 206 with the same strong date is appended`() throws {
        let verdict = try evaluate(["ETag": ""], for: HeadFixture.rest(of: HeadFixture.dated))
        #expect(verdict.isAccepted)
        #expect(verdict.body?.proof == .lastModified)
    }

    @Test func `a 206 with a tag that the 200 lacked is not validated by the date`() throws {
        #expect(try evaluate([:], for: HeadFixture.rest(of: HeadFixture.dated)) == .restart(.changedEntityTag))
    }

    @Test func `V08 a 206 is not used if the received bytes have no metadata`() throws {
        let rangeRequest = RangeRequest(range: ByteRange(from: 400), heldBytes: 400)
        #expect(try evaluate([:], for: rangeRequest) == .restart(.noValidator))
    }

    @Test(arguments: [nil, #"W/"v1""#])
    func `V04 V08 a 206 is not used if the received bytes have no strong validator`(_ tag: String?) throws {
        var rangeRequest = try HeadFixture.rest()
        rangeRequest.known?.entityTag = tag
        rangeRequest.known?.lastModified = nil
        #expect(
            try evaluate(["ETag": tag ?? ""], for: rangeRequest).restartReason
                == (tag == nil ? .noValidator : .weakValidator)
        )
    }

    @Test func `V12 a 206 without the tag of its 200 is not used`() throws {
        #expect(try evaluate(["ETag": ""]) == .restart(.validatorMissing))
    }

    @Test func `V12b a 206 that lacks only the date is appended after If-Range`() throws {
        #expect(try evaluate(["Last-Modified": ""]).body?.proof == .entityTag)
        let rangeRequest = try HeadFixture.rest(of: HeadFixture.dated)
        let changes = ["ETag": "", "Last-Modified": ""]
        #expect(try evaluate(changes, for: rangeRequest).body?.proof == .lastModified)
        #expect(try evaluate(changes, for: rangeRequest.withoutIfRange) == .restart(.validatorMissing))
        let unsized = changes.merging(["Content-Range": "bytes 400-999/*"]) { $1 }
        #expect(try evaluate(unsized, for: rangeRequest) == .restart(.validatorMissing))
        var unknown = HeadFixture.dated
        unknown.totalBytes = nil
        #expect(try evaluate(unsized, for: HeadFixture.rest(of: unknown)) == .restart(.validatorMissing))
    }

    @Test func `a 206 may omit the coding if its tag and its length are those of the coded file`() throws {
        var known = HeadFixture.tagged
        (known.contentCoding, known.isDecoded) = ("gzip", true)
        let request = try HeadFixture.rest(of: known)
        #expect(try evaluate([:], for: request).body?.representation == known)
        let longer = ["Content-Range": "bytes 400-999/2000"]
        #expect(try evaluate(longer, for: request) == .restart(.changedContentCoding))
        #expect(try evaluate(["ETag": #""v2""#], for: request) == .restart(.changedContentCoding))
        #expect(try evaluate(["ETag": #"W/"v1""#], for: request) == .restart(.changedContentCoding))
    }

    @Test(arguments: [#""v2""#, #"W/"v1""#, ""])
    func `V10 a checksum tolerates another tag, but not another length`(_ tag: String) throws {
        let verdict = try evaluate(["ETag": tag], for: HeadFixture.rest(deferredVerification: .checksum))
        #expect(verdict.body?.proof == .checksum)
        #expect(verdict.body?.representation == HeadFixture.tagged)
        #expect(try evaluate([:], for: HeadFixture.rest(deferredVerification: .checksum)).body?.proof == .entityTag)
    }

    @Test func `V11 a 206 with the same tag and another length is another version`() throws {
        #expect(
            try evaluate(["Content-Range": "bytes 400-999/2000"]) == .restart(.changedLength(from: 1000, to: 2000))
        )
    }

    @Test func `R35 an overlap is compared if no field contradicts it`() throws {
        var known = HeadFixture.tagged
        known.entityTag = #"W/"v1""#
        var rangeRequest = try HeadFixture.rest(of: known, deferredVerification: .overlap)
        #expect(
            try evaluate(["ETag": #"W/"v1""#], for: rangeRequest) == .restart(.weakValidator),
            "nothing is held beyond 400"
        )
        rangeRequest.heldBytes = 450
        let body = try #require(try evaluate(["ETag": #"W/"v1""#], for: rangeRequest).body)
        #expect(body.proof == .overlap)
        #expect(body.offset == 450)
        #expect(body.overlapBytes == 50)
        #expect(body.length == 550)
        #expect(try evaluate(["ETag": #"W/"v2""#], for: rangeRequest) == .restart(.weakValidator))
        #expect(
            try evaluate(["ETag": #""v2""#], for: HeadFixture.rest(deferredVerification: .overlap))
                == .restart(.changedEntityTag)
        )
        let dated = try HeadFixture.rest(of: HeadFixture.dated, deferredVerification: .overlap).withoutIfRange
        #expect(try evaluate(["ETag": "", "Last-Modified": ""], for: dated) == .restart(.validatorMissing))
    }

    @Test(
        arguments: [
            ("bytes 400-449/1000", nil), ("bytes 400-440/1000", nil), ("bytes 400-449/*", nil),
            ("bytes 400-450/1000", 1),
            ("bytes 390-450/*", 1), ("bytes 400-449/450", 0), ("bytes 400-999/1000", 550),
        ] as [(String, Int64?)]
    )
    func `R35 an overlap is used only if it has new bytes or reaches the end`(
        _ range: String,
        _ length: Int64?
    ) throws {
        var rangeRequest = try HeadFixture.rest(of: RepresentationMetadata(), deferredVerification: .overlap)
        rangeRequest.heldBytes = 450
        let changes = ["Content-Range": range, "Content-Length": "", "ETag": "", "Last-Modified": ""]
        let verdict = try evaluate(changes, for: rangeRequest)
        #expect(verdict.body?.length == length)
        #expect(verdict.restartReason == (length == nil ? .overlapMissing : nil))
    }

    @Test func `R35 a 416 has nothing to compare with an overlap`() throws {
        var rangeRequest = try HeadFixture.rest(of: RepresentationMetadata(), deferredVerification: .overlap)
        rangeRequest.heldBytes = 450
        let head = HeadFixture.head(416, ["Content-Range": "bytes */450"])
        #expect(ResponseVerdict.evaluate(head, for: rangeRequest) == .restart(.unsatisfiable(length: 450)))
    }

    @Test func `E03 E05 an encoded 206 is not used, whatever its validator`() throws {
        #expect(try evaluate(["Content-Encoding": "gzip"]) == .restart(.contentCoding))
        let rangeRequest = try HeadFixture.rest(deferredVerification: .checksum)
        #expect(try evaluate(["Content-Encoding": "gzip"], for: rangeRequest) == .restart(.contentCoding))
        #expect(try evaluate(["Content-Encoding": "identity"]).isAccepted)
    }

    @Test func `L07 a chunked 206 is as long as its range`() throws {
        let verdict = try evaluate(["Content-Length": "5", "Transfer-Encoding": "chunked"])
        #expect(verdict.isAccepted)
        #expect(verdict.body?.length == 600)
        #expect(verdict.body?.framing == .delimited)
    }

    @Test func `without received bytes, the first part needs no validator`() throws {
        let verdict = try evaluate([:], for: RangeRequest(range: ByteRange(from: 400)))
        #expect(verdict.body?.proof == nil)
        #expect(verdict.body?.representation == HeadFixture.tagged)
    }

    @Test func `Z03 positions beyond 4 GiB are accepted up to the largest`() throws {
        let known = RepresentationMetadata(entityTag: #""v1""#)
        let range = try #require(ByteRange(from: 5_000_000_000))
        let rangeRequest = try RangeRequest(continuing: known, with: range, heldBytes: 5_000_000_000)
        let last = Int64.max - 1
        let verdict = try evaluate(
            ["Content-Range": "bytes 0-\(last)/\(Int64.max)", "Content-Length": "\(Int64.max)"],
            for: rangeRequest
        )
        #expect(verdict.body?.skippedBytes == 5_000_000_000)
        #expect(verdict.body?.length == Int64.max - 5_000_000_000)
    }
}
