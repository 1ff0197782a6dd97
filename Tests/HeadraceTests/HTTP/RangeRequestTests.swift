import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RangeRequestTests {
    private func fields(_ rangeRequest: RangeRequest) -> [String] {
        rangeRequest.fields.map { "\($0.name): \($0.value)" }
    }

    @Test func `R01 the whole file is requested without a range`() {
        #expect(RangeRequest.whole.fields.isEmpty)
    }

    @Test func `R02 the remaining bytes are requested with the range and the strong tag`() throws {
        #expect(fields(try HeadFixture.rest()) == ["Range: bytes=400-", #"If-Range: "v1""#])
        #expect(fields(try HeadFixture.rest(to: 500)) == ["Range: bytes=400-499", #"If-Range: "v1""#])
    }

    @Test func `V06 without a tag, the date is sent byte for byte`() throws {
        let rangeRequest = try HeadFixture.rest(of: HeadFixture.dated)
        #expect(fields(rangeRequest) == ["Range: bytes=400-", "If-Range: \(HeadFixture.lastModified)"])
    }

    @Test(arguments: [#"W/"v1""#, "v1", "", #""a", "b""#])
    func `V04 V09 a weak or malformed tag requests no range`(_ tag: String) {
        var known = HeadFixture.tagged
        known.entityTag = tag
        #expect(throws: RestartReason.weakValidator) { try HeadFixture.rest(of: known) }
    }

    @Test func `V07 V08 without a validator no range is requested`() {
        var known = HeadFixture.dated
        known.date = HeadFixture.lastModified
        #expect(throws: RestartReason.noValidator) { try HeadFixture.rest(of: known) }
        known.lastModified = nil
        #expect(throws: RestartReason.noValidator) { try HeadFixture.rest(of: known) }
    }

    @Test func `E02 E03 encoded bytes are not resumed, whatever their validator`() {
        var known = HeadFixture.tagged
        known.contentCoding = "gzip"
        #expect(throws: RestartReason.contentCoding) { try HeadFixture.rest(of: known) }
        #expect(throws: RestartReason.contentCoding) {
            try HeadFixture.rest(of: known, deferredVerification: .checksum)
        }
    }

    @Test(arguments: [("none", true), ("None", true), ("bytes", false), ("bytes, none", false), ("items", false)])
    func `R23 R24 only a server that refuses ranges gets no range request`(
        _ units: String,
        _ refuses: Bool
    ) {
        let known = RepresentationMetadata(of: HeadFixture.whole(["Accept-Ranges": units]), totalBytes: 1000)
        #expect(known.refusesRanges == refuses)
        #expect((try? HeadFixture.rest(of: known)) == nil ? refuses : !refuses)
    }

    @Test(arguments: [RangeRequest.DeferredVerification.checksum, .overlap])
    func `R35 deferred verification requests a range without If-Range`(
        _ proof: RangeRequest.DeferredVerification
    ) throws {
        let rangeRequest = try HeadFixture.rest(of: RepresentationMetadata(), deferredVerification: proof)
        #expect(fields(rangeRequest) == ["Range: bytes=400-"])
    }

    @Test func `R17 the request without If-Range keeps its range`() throws {
        #expect(fields(try HeadFixture.rest().withoutIfRange) == ["Range: bytes=400-"])
    }
}
