import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct EntityTagTests {
    @Test(arguments: [
        (#""v1""#, false), (#""""#, false), (#""a-b:c/d=""#, false), (#""W/""#, false), (#"W/"v1""#, true),
        (#"W/"""#, true), (#""!#~""#, false),
    ])
    func `a valid tag is parsed unchanged`(_ text: String, _ isWeak: Bool) throws {
        let tag = try #require(EntityTag(parsing: text))
        #expect(tag.text == text)
        #expect(tag.isWeak == isWeak)
    }

    @Test(arguments: [
        "", "v1", "\"", "\"v1", "v1\"", "'v1'", "w/\"v1\"", "W/v1", "W/", "W\"v1\"", "\"a\"b\"", "\"a\", \"b\"",
        "\"a b\"", "\"a\tb\"", "\"a\r\nb\"", "\"a\u{0}b\"", "\"a\u{7f}b\"", "\"\u{e9}\"", "\"e\u{301}\"", " \"v1\"",
        "\"v1\" ", "\"v1\"-gzip", "*",
    ])
    func `V09 an unquoted or malformed tag is ignored`(_ text: String) {
        #expect(EntityTag(parsing: text) == nil)
    }

    /// The table of RFC 9110, section 8.8.3.2.
    @Test(arguments: [
        (#"W/"1""#, #"W/"1""#, false, true), (#"W/"1""#, #"W/"2""#, false, false), (#"W/"1""#, #""1""#, false, true),
        (#""1""#, #"W/"1""#, false, true), (#""1""#, #""1""#, true, true), (#""a""#, #""A""#, false, false),
    ])
    func `tags compare as in the table of RFC 9110`(_ one: String, _ other: String, _ strong: Bool, _ weak: Bool) throws
    {
        let one = try #require(EntityTag(parsing: one))
        let other = try #require(EntityTag(parsing: other))
        #expect(one.provesSameBytes(as: other) == strong)
        #expect(one.isWeaklyEqual(to: other) == weak)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct EntityValidatorTests {
    private func validator(_ fields: KeyValuePairs<String, String>) -> EntityValidator? {
        EntityValidator(of: RepresentationMetadata(of: HeadFixture.head(200, fields), totalBytes: nil))
    }

    @Test func `a strong tag is preferred and echoed byte for byte`() {
        let validator = validator([
            "ETag": #""v1""#, "Last-Modified": HeadFixture.lastModified, "Date": HeadFixture.date,
        ])
        #expect(validator?.headerValue == #""v1""#)
    }

    @Test(arguments: [
        "Tue, 15 Nov 1994 12:44:26 GMT", "Tuesday, 15-Nov-94 12:44:26 GMT", "Tue Nov 15 12:44:26 1994",
    ])
    func `V06 a date 60 s older than the response is echoed byte for byte`(_ lastModified: String) {
        let validator = validator(["Last-Modified": lastModified, "Date": HeadFixture.date])
        #expect(validator == .lastModified(lastModified))
        #expect(validator?.headerValue == lastModified)
    }

    @Test(arguments: [
        ("Tue, 15 Nov 1994 12:45:26 GMT", HeadFixture.date),
        ("Tue, 15 Nov 1994 12:45:25 GMT", HeadFixture.date),
        ("Tue, 15 Nov 1994 12:44:27 GMT", HeadFixture.date),
        ("Tue, 15 Nov 1994 13:45:26 GMT", HeadFixture.date),
        ("yesterday", HeadFixture.date),
        (HeadFixture.lastModified, "now"),
        // Dates that software sends if it does not know the time.
        ("Thu, 01 Jan 1970 00:00:00 GMT", HeadFixture.date), ("Thu, 01 Jan 1970 00:00:01 GMT", HeadFixture.date),
    ])
    func `V07 a date that is too recent or invalid is no validator`(_ lastModified: String, _ date: String) {
        #expect(validator(["Last-Modified": lastModified, "Date": date]) == nil)
    }

    @Test func `V07 a date in a response without a Date field is no validator`() {
        #expect(validator(["Last-Modified": HeadFixture.lastModified]) == nil)
    }

    @Test(arguments: [#"W/"v1""#, "v1", ""])
    func `V04 V09 a weak or malformed tag is no validator and excludes the date`(_ tag: String) {
        let fields: KeyValuePairs = [
            "ETag": tag, "Last-Modified": HeadFixture.lastModified, "Date": HeadFixture.date,
        ]
        #expect(validator(fields) == nil)
    }

    /// nginx builds the tag from the time and the size, Apache from the size and the time.
    @Test(
        arguments: [
            ("\"1-2dc6c0\"", 3_000_000, nil), ("\"2dc6c0-f4240\"", 3_000_000, nil), ("\"1-2dc6c0\"", 3_000_001, true),
            ("\"v1\"", 3_000_000, true), ("\"1-2dc6c0\"", nil, true),
        ] as [(String, Int64?, Bool?)]
    )
    func `V07 a tag built from the size and an unset time is no validator`(
        _ tag: String,
        _ size: Int64?,
        _ proves: Bool?
    ) {
        let fields: KeyValuePairs = ["ETag": tag, "Last-Modified": "Thu, 01 Jan 1970 00:00:01 GMT"]
        let version = RepresentationMetadata(of: HeadFixture.head(200, fields), totalBytes: size)
        #expect(EntityValidator(of: version).map { _ in true } == proves)
        #expect(Precondition(of: version).map { _ in true } == proves)
        let dated: KeyValuePairs = ["ETag": tag, "Last-Modified": HeadFixture.lastModified]
        #expect(EntityValidator(of: RepresentationMetadata(of: HeadFixture.head(200, dated), totalBytes: size)) != nil)
    }

    @Test(arguments: [("W/\"1-2dc6c0\"", false), ("W/\"2-2dc6c1\"", true)])
    func `V07 a weak tag built from the size and an unset time is no condition`(_ tag: String, _ isCondition: Bool) {
        let fields: KeyValuePairs = ["ETag": tag, "Last-Modified": "Thu, 01 Jan 1970 00:00:01 GMT"]
        let version = RepresentationMetadata(of: HeadFixture.head(200, fields), totalBytes: 3_000_000)
        #expect((Precondition(of: version) != nil) == isCondition)
    }

    @Test func `V08 without fields there is no validator`() {
        #expect(validator([:]) == nil)
    }

    @Test func `two different tags or dates are no validator`() {
        #expect(validator(["ETag": #""v1""#, "etag": #""v2""#]) == nil)
        #expect(validator(["ETag": #""v1""#, "etag": #""v1""#]) != nil)
        let dates: KeyValuePairs = [
            "Last-Modified": HeadFixture.lastModified, "last-modified": HeadFixture.laterModified,
            "Date": HeadFixture.date,
        ]
        #expect(validator(dates) == nil)
    }

    @Test(arguments: [
        ("gzip", false), ("identity", true), ("Identity, br", false), ("", true), ("None", true), ("none, br", false),
    ])
    func `E02 encoded bytes have no validator`(_ coding: String, _ isValid: Bool) {
        #expect((validator(["ETag": #""v1""#, "Content-Encoding": coding]) != nil) == isValid)
    }

    @Test func `representation metadata survives encoding and decoding`() throws {
        var representation = HeadFixture.tagged
        representation.contentCoding = "br"
        representation.refusesRanges = true
        let data = try JSONEncoder().encode(representation)
        #expect(try JSONDecoder().decode(RepresentationMetadata.self, from: data) == representation)
    }
}
