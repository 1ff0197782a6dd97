import Testing

@testable import Headrace

/// Evaluation of a status other than 200 and 206.
@Suite(.timeLimit(.minutes(4)))
struct StatusVerdictTests {
    private func evaluate(
        _ status: Int,
        _ fields: KeyValuePairs<String, String> = [:],
        for rangeRequest: RangeRequest? = nil
    ) throws -> ResponseVerdict {
        .evaluate(HeadFixture.head(status, fields), for: try rangeRequest ?? HeadFixture.rest())
    }

    @Test func `R19 a 416 with the received and recorded size completes the download`() throws {
        var rangeRequest = try HeadFixture.rest()
        rangeRequest.heldBytes = 1000
        #expect(try evaluate(416, ["Content-Range": "bytes */1000"], for: rangeRequest) == .complete(totalBytes: 1000))
    }

    @Test func `R19 a 416 that first reveals the size completes only the same version`() throws {
        var known = HeadFixture.tagged
        known.totalBytes = nil
        let rangeRequest = try HeadFixture.rest(of: known)
        let size = "bytes */400"
        #expect(
            try evaluate(416, ["Content-Range": size, "ETag": #""v1""#], for: rangeRequest)
                == .complete(totalBytes: 400)
        )
        // With If-Range, the server would have ignored the range for another version.
        #expect(try evaluate(416, ["Content-Range": size], for: rangeRequest) == .complete(totalBytes: 400))
        let unconditional = rangeRequest.withoutIfRange
        #expect(try evaluate(416, ["Content-Range": size], for: unconditional) == .restart(.unsatisfiable(length: 400)))
        #expect(
            try evaluate(416, ["Content-Range": size, "ETag": #""v2""#], for: rangeRequest)
                == .restart(.unsatisfiable(length: 400))
        )
        let checked = try HeadFixture.rest(of: known, deferredVerification: .checksum)
        #expect(try evaluate(416, ["Content-Range": size], for: checked) == .complete(totalBytes: 400))
    }

    @Test(
        arguments: [
            (0, .unsatisfiable(length: 0)), (399, .unsatisfiable(length: 399)), (400, .unsatisfiable(length: 400)),
            (999, .unsatisfiable(length: 999)), (1000, .partRefused(length: 1000)),
            (1005, .changedLength(from: 1000, to: 1005)),
        ] as [(Int64, RestartReason)]
    )
    func `R20 a 416 with a size other than the received one restarts, with the reason`(
        _ size: Int64,
        _ reason: RestartReason
    ) throws {
        #expect(try evaluate(416, ["Content-Range": "bytes */\(size)"]) == .restart(reason))
    }

    @Test func `R21 a 416 without a size restarts, unless all bytes are received`() throws {
        var rangeRequest = try HeadFixture.rest()
        #expect(try evaluate(416, for: rangeRequest) == .restart(.unsatisfiable(length: nil)))
        #expect(
            try evaluate(416, ["Content-Range": "junk"], for: rangeRequest) == .restart(.unsatisfiable(length: nil))
        )
        rangeRequest.heldBytes = 1000
        #expect(try evaluate(416, for: rangeRequest) == .complete(totalBytes: 1000))
    }

    @Test func `a 416 of an empty file restarts without a range`() throws {
        let rangeRequest = RangeRequest(range: ByteRange(from: 0))
        #expect(
            try evaluate(416, ["Content-Range": "bytes */0"], for: rangeRequest) == .restart(.unsatisfiable(length: 0))
        )
    }

    @Test func `R22 a 412 to a range request restarts the download`() throws {
        #expect(try evaluate(412) == .restart(.preconditionFailed))
        #expect(try evaluate(412, for: .whole) == .fail(.status(412)))
    }

    @Test func `V16 a 304 to a request without a precondition is rejected`() throws {
        #expect(try evaluate(304) == .fail(.notModified))
        #expect(try evaluate(304, for: .whole) == .fail(.notModified))
    }

    @Test(arguments: [
        201, 202, 204, 205, 207, 226, 300, 301, 302, 400, 401, 403, 404, 405, 407, 410, 421, 431, 451, 501, 505,
        511,
    ])
    func `L14 R33 T04 T08 D05 D12 D14 other statuses fail at once and discard no bytes`(_ status: Int) throws {
        #expect(try evaluate(status, ["Retry-After": "1", "ETag": #""v1""#]) == .fail(.status(status)))
        #expect(try evaluate(status, for: .whole) == .fail(.status(status)))
        #expect(ResponseRejection.status(status).statusCode == status)
    }

    @Test(
        arguments: [
            ("", nil, .status(401)), ("Basic realm=x", nil, .status(401)), ("Digest realm=x, Basic", nil, .status(401)),
            ("", "basic", .loginRefused), ("Basic realm=x", "basic", .loginRefused),
            ("Digest realm=x", nil, .unsupportedLogin(scheme: "digest")),
            ("Digest realm=x", "basic", .unsupportedLogin(scheme: "digest")),
            // The caller's own field may use any scheme.
            ("Digest realm=x", "digest", .loginRefused),
        ] as [(String, String?, ResponseRejection)]
    )
    func `D12 D13 a 401 reports which login it requires`(
        _ challenge: String,
        _ sent: String?,
        _ refusal: ResponseRejection
    ) throws {
        var head = HeadFixture.head(401, ["WWW-Authenticate": challenge])
        head.refusedLogin = sent
        #expect(ResponseVerdict.evaluate(head, for: .whole) == .fail(refusal))
        #expect(refusal.error().statusCode == 401)
        #expect((refusal.error().remedy == .login) == (refusal == .status(401)))
    }

    @Test func `a 416 to a plain request is rejected`() throws {
        #expect(try evaluate(416, ["Content-Range": "bytes */1000"], for: .whole) == .fail(.status(416)))
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524])
    func `R28 T03 T07 a transient failure is retried and its body is not used`(_ status: Int) throws {
        let page: KeyValuePairs = ["Content-Length": "1000000", "Content-Type": "text/html"]
        #expect(try evaluate(status, page) == .retry(.status(status), after: nil))
        #expect(try evaluate(status, for: .whole) == .retry(.status(status), after: nil))
    }

    @Test(
        arguments: [
            ("2", 2), ("Tue, 15 Nov 1994 12:45:28 GMT", 2), ("Tue, 15 Nov 1994 12:45:20 GMT", 0),
            ("1000000000000", 21_600),
            ("-2", nil), ("junk", nil),
        ] as [(String, Int?)]
    )
    func `T05 T06 the server's Retry-After is passed on`(_ text: String, _ seconds: Int?) throws {
        let fields: KeyValuePairs = ["Date": HeadFixture.date, "Retry-After": text]
        #expect(try evaluate(503, fields) == .retry(.status(503), after: seconds.map { .seconds($0) }))
    }

    @Test func `T05 T15 a Retry-After date in a response without a Date field is ignored`() throws {
        #expect(try evaluate(429, ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"]) == .retry(.status(429), after: nil))
    }

    @Test func `each rejection has its own sentence`() {
        let refusals: [ResponseRejection] = [
            .status(404), .loginRefused, .unsupportedLogin(scheme: "digest"),
            .notModified, .unrequestedRange, .lengthMismatch(announced: 1, range: 0..<2),
            .unexpectedContent(mediaType: "text/html"), .unexpectedContent(mediaType: nil), .violation("No."),
        ]
        let sentences = refusals.map(\.sentence)
        #expect(Set(sentences).count == sentences.count)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") })
    }
}
