import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Wed Nov 16 08:49:37 1994", 784_975_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Wednesday, 29-Feb-68 00:00:00 GMT", 3_097_699_200),
        ("Friday, 31-Dec-69 23:59:59 GMT", -1),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ])
    func `all three date forms are parsed`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(parsing: text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov   6 08:49:37 1994", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 0\u{e9} Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
    ])
    func `any other date is rejected`(_ text: String) {
        #expect(HTTPDate(parsing: text) == nil)
    }

    /// Around a leap century and a century without a leap day.
    @Test(arguments: [(1970...1973, 0), (1999...2001, 915_148_800), (2099...2101, 4_070_908_800)])
    func `consecutive days have consecutive dates`(_ years: ClosedRange<Int>, _ start: Int64) throws {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var next = start
        for year in years {
            for month in months {
                for day in 1...31 {
                    let text = "Sun, \(day < 10 ? "0" : "")\(day) \(month) \(year) 00:00:00 GMT"
                    guard let date = HTTPDate(parsing: text) else { continue }
                    if date.seconds != next { Issue.record("\(text) is \(date.seconds)") }
                    next += 86_400
                }
            }
        }
        let days = years.map { $0 == 1972 || $0 == 2000 ? 366 : 365 }.reduce(0, +)
        #expect(next == start + Int64(days) * 86_400)
    }
}
