import HeadracePlatform
import Testing

@testable import Headrace

/// The precondition for an existing file, and the evaluation of the responses (RFC 9110, section 13).
@Suite(.timeLimit(.minutes(4)))
struct PreconditionTests {
    private static let now = HeadFixture.date
    private static let then = HeadFixture.lastModified
    private static let later = HeadFixture.laterModified

    private func condition(_ fields: [String: String]) -> Precondition? {
        Precondition(of: version(fields))
    }

    private func version(_ fields: [String: String]) -> RepresentationMetadata {
        RepresentationMetadata(of: head(200, fields), totalBytes: nil)
    }

    private func head(_ status: Int, _ fields: [String: String]) -> ResponseHead {
        var head = HeadFixture.head(status)
        head.fields = fields.map { HeaderField(name: $0.key, value: $0.value) }
        return head
    }

    @Test(
        arguments: [
            (["ETag": #""v1""#], HeaderField(name: "If-None-Match", value: #""v1""#)),
            (["ETag": #"W/"v1""#], HeaderField(name: "If-None-Match", value: #"W/"v1""#)),
            (
                ["ETag": #""v1""#, "Last-Modified": then, "Date": now],
                HeaderField(name: "If-None-Match", value: #""v1""#)
            ),
            (["Last-Modified": then, "Date": now], HeaderField(name: "If-Modified-Since", value: then)),
            // The server does not rely on a date next to an unusable tag.
            (["ETag": "v1", "Last-Modified": then, "Date": now], nil), (["Last-Modified": then], nil),
            // A second change within the same second has the same date as the response.
            (["Last-Modified": now, "Date": now], nil), (["Last-Modified": "yesterday", "Date": now], nil), ([:], nil),
        ] as [([String: String], HeaderField?)]
    )
    func `a precondition uses the tag, else a date that is old enough`(
        _ fields: [String: String],
        _ field: HeaderField?
    ) {
        #expect(condition(fields)?.field == field)
        var rangeRequest = RangeRequest.whole
        rangeRequest.condition = condition(fields)
        #expect(rangeRequest.fields == (field.map { [$0] } ?? []))
    }

    @Test(arguments: ["http://b.example/file", "http://a.example/other"])
    func `a date of one URL is not used for another`(_ text: String) throws {
        let fields = ["Last-Modified": Self.then, "Date": Self.now]
        var rangeRequest = RangeRequest.whole
        rangeRequest.condition = condition(fields)
        let elsewhere = ResponseHead(url: try #require(URL(string: text)), status: 304)
        #expect(ResponseVerdict.evaluate(elsewhere, for: rangeRequest) == .retryWithoutPrecondition)
        let whole = ResponseHead(url: elsewhere.url, status: 200, fields: head(200, fields).fields)
        #expect(
            try #require(rangeRequest.condition).matches(RepresentationMetadata(of: whole, totalBytes: nil)) == false
        )
    }

    @Test func `a precondition is not sent with a range`() throws {
        var rangeRequest = try HeadFixture.rest()
        rangeRequest.condition = condition(["ETag": #""v1""#])
        #expect(rangeRequest.fields.map(\.name) == ["Range", "If-Range"])
        #expect(ResponseVerdict.evaluate(head(304, [:]), for: rangeRequest) == .fail(.notModified))
    }

    @Test(
        arguments: [
            (["ETag": #""v1""#], [:], .unchanged), (["ETag": #""v1""#], ["ETag": #""v1""#], .unchanged),
            (["ETag": #""v1""#], ["ETag": #"W/"v1""#], .unchanged),
            (["ETag": #"W/"v1""#], ["ETag": #""v1""#], .unchanged),
            (["ETag": #""v1""#], ["ETag": #""v2""#], .retryWithoutPrecondition),
            (["ETag": #""v1""#], ["ETag": "v1"], .retryWithoutPrecondition),
            (["ETag": #""v1""#], ["Last-Modified": later], .unchanged),
            (["Last-Modified": then, "Date": now], [:], .unchanged),
            (["Last-Modified": then, "Date": now], ["Last-Modified": then], .unchanged),
            // A server that reverted to an older version considers it not modified since.
            (["Last-Modified": later, "Date": now], ["Last-Modified": then], .retryWithoutPrecondition),
        ] as [([String: String], [String: String], ResponseVerdict)]
    )
    func `a 304 is accepted unless it identifies another version`(
        _ known: [String: String],
        _ fields: [String: String],
        _ verdict: ResponseVerdict
    ) {
        var rangeRequest = RangeRequest.whole
        rangeRequest.condition = condition(known)
        #expect(ResponseVerdict.evaluate(head(304, fields), for: rangeRequest) == verdict)
    }

    @Test(
        arguments: [
            (["ETag": #""v1""#], ["ETag": #""v1""#], true), (["ETag": #"W/"v1""#], ["ETag": #""v1""#], true),
            (["ETag": #""v1""#], ["ETag": #""v2""#], false), (["ETag": #""v1""#], ["Last-Modified": then], false),
            (["ETag": #""v1""#], [:], false), (["Last-Modified": then, "Date": now], ["Last-Modified": then], true),
            (["Last-Modified": then, "Date": now], ["Last-Modified": later], false),
            (["Last-Modified": then, "Date": now], ["Last-Modified": then, "ETag": #""v1""#], false),
            (["Last-Modified": then, "Date": now], [:], false),
        ] as [([String: String], [String: String], Bool)]
    )
    func `a response with a body is the same version only if a validator matches`(
        _ known: [String: String],
        _ fields: [String: String],
        _ isSame: Bool
    ) throws {
        #expect(try #require(condition(known)).matches(version(fields)) == isSame)
    }

    @Test(
        arguments: [
            (then, 784_900_800), ("Tuesday, 15-Nov-94 12:00:00 GMT", 784_900_800), (now, 784_903_526),
            ("Tue, 15 Nov 1994 12:45:27 GMT", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", nil),
            ("Thu, 01 Jan 1970 00:00:00 GMT", nil), ("Wed, 31 Dec 1969 23:59:59 GMT", nil),
            ("Thu, 01 Jan 1970 00:00:01 GMT", 1), ("1994-11-15T12:00:00Z", nil), ("", nil),
        ] as [(String, Int64?)]
    )
    func `an invalid or future date is not used as a file time`(_ text: String, _ seconds: Int64?) throws {
        let date = try #require(HTTPDate(parsing: Self.now))
        #expect(version(["Last-Modified": text]).plausibleDate(at: date)?.seconds == seconds)
    }
}
