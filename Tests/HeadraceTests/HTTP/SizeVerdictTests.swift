import Testing

@testable import Headrace

/// Evaluation of a response if the file size is known in advance.
@Suite(.timeLimit(.minutes(4)))
struct SizeVerdictTests {
    /// The verdicts with expected sizes of 900, 1000 and 1100 bytes for a file of 1000.
    private func evaluate(_ head: ResponseHead, for rangeRequest: RangeRequest) -> [ResponseVerdict] {
        [Int64(900), 1000, 1100].map { size in
            var rangeRequest = rangeRequest
            rangeRequest.expectedSize = size
            return .evaluate(head, for: rangeRequest)
        }
    }

    private func refusals(_ head: ResponseHead, for rangeRequest: RangeRequest) -> [Int64?] {
        evaluate(head, for: rangeRequest).map { if case .fail(.wrongSize(let size, _)) = $0 { size } else { nil } }
    }

    @Test func `a complete response of an unexpected size is rejected`() throws {
        for rangeRequest in [RangeRequest.whole, HeadFixture.again(), try HeadFixture.rest().withoutIfRange] {
            #expect(refusals(HeadFixture.whole(), for: rangeRequest) == [1000, nil, 1000])
        }
    }

    @Test func `a part of a file of an unexpected size is rejected`() throws {
        var known = HeadFixture.tagged
        known.totalBytes = nil
        let rangeRequest = try HeadFixture.rest(of: known)
        #expect(refusals(HeadFixture.part(), for: rangeRequest) == [1000, nil, 1000])
        // An unknown total is rejected if the part reaches beyond the expected size.
        let part = HeadFixture.part(["Content-Range": "bytes 400-999/*"])
        #expect(refusals(part, for: rangeRequest) == [1000, nil, nil])
    }

    @Test func `a 416 with an unexpected size is not the end of the file`() throws {
        let end = HeadFixture.head(416, ["Content-Range": "bytes */1000", "ETag": #""v1""#])
        var known = HeadFixture.tagged
        known.totalBytes = nil
        var rangeRequest = try HeadFixture.rest(of: known)
        rangeRequest.heldBytes = 1000
        #expect(refusals(end, for: rangeRequest) == [1000, nil, 1000])
        #expect(evaluate(end, for: rangeRequest)[1] == .complete(totalBytes: 1000))
    }

    @Test func `a body without a length is accepted, and an unusable response is evaluated as usual`() throws {
        let chunked = HeadFixture.whole(["Content-Length": "", "Transfer-Encoding": "chunked"])
        #expect(evaluate(chunked, for: .whole).allSatisfy { $0.isAccepted })
        for head in [HeadFixture.head(404), HeadFixture.head(503), HeadFixture.head(304)] {
            #expect(Set(evaluate(head, for: .whole)) == [.evaluate(head, for: .whole)])
        }
        // Another version is requested as a whole and evaluated then.
        let (part, rangeRequest) = (HeadFixture.part(["Content-Range": "bytes 400-999/1001"]), try HeadFixture.rest())
        #expect(Set(evaluate(part, for: rangeRequest)).count == 1)
    }
}
