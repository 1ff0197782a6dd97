import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RetryAfterTests {
    private let date = HTTPDate(parsing: HeadFixture.date)

    @Test(arguments: [
        ("0", 0), ("2", 2), ("007", 7), ("21600", 21_600), ("21601", 21_600), ("1000000000000", 21_600),
        ("9223372036854775807", 21_600), ("99999999999999999999999999", 21_600),
        ("Tue, 15 Nov 1994 12:45:28 GMT", 2), ("Tuesday, 15-Nov-94 12:45:28 GMT", 2), ("Tue Nov 15 12:45:28 1994", 2),
        ("Tue, 15 Nov 1994 12:45:26 GMT", 0), ("Tue, 15 Nov 1994 12:45:25 GMT", 0),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 21_600),
    ])
    func `T05 T06 seconds and dates are parsed and clamped`(_ text: String, _ seconds: Int) {
        #expect(RetryAfter(parsing: text, now: date)?.delay == .seconds(seconds))
    }

    @Test(arguments: ["", "-1", "-5", "+2", "1.5", "2 s", "soon", "0x10", "\u{0662}", "Tue, 15 Nov 1994", "1e3"])
    func `T06 an invalid value is ignored`(_ text: String) {
        #expect(RetryAfter(parsing: text, now: date) == nil)
    }

    @Test(arguments: [Int64.min, .max])
    func `T06 a clock that is far off does not overflow`(_ seconds: Int64) {
        let delay = RetryAfter(parsing: HeadFixture.date, now: HTTPDate(seconds: seconds))?.delay
        #expect(delay == (seconds < 0 ? RetryAfter.maximum : .zero))
    }

    /// Even if the clock is a century off, both dates come from the server's clock.
    @Test(arguments: ["1894", "1994", "2094", "9994"])
    func `T15 a date is relative to the response's own date`(_ year: String) {
        let fields: KeyValuePairs = [
            "Date": "Tue, 15 Nov \(year) 12:45:26 GMT", "Retry-After": "Tue, 15 Nov \(year) 12:45:28 GMT",
        ]
        #expect(RetryAfter(of: HeadFixture.head(503, fields))?.delay == .seconds(2))
    }

    @Test(arguments: [[:], ["Date": "yesterday"]] as [KeyValuePairs<String, String>])
    func `without a Date field, a date is relative to the time of receipt`(_ fields: KeyValuePairs<String, String>) {
        var head = HeadFixture.head(503, fields)
        head.fields.append(HeaderField(name: "Retry-After", value: "Tue, 15 Nov 1994 12:45:28 GMT"))
        #expect(RetryAfter(of: head) == nil)
        head.receivedAt = date
        #expect(RetryAfter(of: head)?.delay == .seconds(2))
    }

    @Test func `D16 the field is honoured on a redirect`() {
        #expect(RetryAfter(of: HeadFixture.head(302, ["Location": "/", "Retry-After": "3"]))?.delay == .seconds(3))
    }

    @Test func `the longest of several delays is used`() {
        let head = HeadFixture.head(429, ["Retry-After": "2", "retry-after": "junk", "RETRY-AFTER": "9"])
        #expect(RetryAfter(of: head)?.delay == .seconds(9))
    }
}
