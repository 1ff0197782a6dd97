import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ByteRangeTests {
    @Test(
        arguments: [
            (0, nil, "bytes=0-"),
            (0, 1, "bytes=0-0"),
            (400, 1000, "bytes=400-999"),
            (4_294_967_295, 4_294_967_297, "bytes=4294967295-4294967296"),
            (Int64.max - 1, .max, "bytes=9223372036854775806-9223372036854775806"),
            (.max, nil, "bytes=9223372036854775807-"),
        ] as [(Int64, Int64?, String)]
    )
    func `a range is written with its last position`(_ start: Int64, _ end: Int64?, _ value: String) throws {
        #expect(try #require(ByteRange(from: start, to: end)).headerValue == value)
    }

    @Test(arguments: [(-1, nil), (-1, 5), (5, 5), (5, 4), (0, 0), (.max, .min)] as [(Int64, Int64?)])
    func `a negative or empty range is invalid`(_ start: Int64, _ end: Int64?) {
        #expect(ByteRange(from: start, to: end) == nil)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", .part(0..<1, total: 1)),
            ("bytes 400-999/1000", .part(400..<1000, total: 1000)),
            ("Bytes 400-998/1000", .part(400..<999, total: 1000)),
            ("bytes 400-999/*", .part(400..<1000, total: nil)),
            ("bytes 4294967295-4294967296/5368709121", .part(4_294_967_295..<4_294_967_297, total: 5_368_709_121)),
            ("bytes 0-9223372036854775806/9223372036854775807", .part(0..<Int64.max, total: .max)),
            ("bytes */1000", .unsatisfied(total: 1000)),
            ("bytes */0", .unsatisfied(total: 0)),
            ("bytes=400-999/1000", .part(400..<1000, total: 1000)),
            ("bytes: 400-999/1000", .part(400..<1000, total: 1000)),
            ("bytes   400-999/*", .part(400..<1000, total: nil)),
            ("bytes: */1000", .unsatisfied(total: 1000)),
        ] as [(String, ContentRange)]
    )
    func `a valid field is parsed`(_ text: String, _ range: ContentRange) {
        #expect(ContentRange(parsing: text) == range)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes /", "bytes -/", "bytes */*", "bytes 9-5/100", "bytes 0-99/50", "bytes 0-99/99",
        "bytes 0-99", "bytes 0-/100", "bytes -99/100", "bytes 0-99/", "bytes 0-99/100/100", "bytes 0-9-9/100",
        "bytes==0-99/100", "bytes:=0-99/100", "bytes =0-99/100", "bytes0-99/100", "bytes 0 - 99/100",
        "bytes 0-99/100 ", "0-99/100",
        "items 0-99/100", "bytes +0-99/100", "bytes 0-+99/100", "bytes 0-99/-100", "bytes 0x0-99/100",
        "bytes \u{0661}-99/100", "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*",
        "bytes 0-99/9223372036854775808", "bytes 99999999999999999999-99999999999999999999/*", "bytes 0-0/0",
    ])
    func `any other field is rejected`(_ text: String) {
        #expect(ContentRange(parsing: text) == nil)
    }
}
