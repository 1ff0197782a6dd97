import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ByteRateTests {
    @Test(
        arguments: [
            ("1", 1), ("007", 7), ("512K", 524_288), ("2m", 2_097_152), ("3G", 3_221_225_472),
            ("9223372036854775807", .max), ("1.5M", 1_572_864), ("0.5k", 512), ("0.001K", 1), ("2.0G", 2_147_483_648),
            ("8589934591.999999999G", 9_223_372_036_854_775_806), ("1MB", 1_048_576), ("1.5KiB", 1536),
            ("2gb", 2_147_483_648),
        ] as [(String, Int64)]
    )
    func `a rate uses powers of 1024`(_ text: String, _ rate: Int64) throws {
        #expect(try ByteRate(parsing: text).bytesPerSecond == rate)
    }

    @Test(
        arguments: [
            ("", .notANumber), ("K", .notANumber), ("-1", .notANumber), ("1.5", .notANumber), ("1 M", .notANumber),
            (".5M", .notANumber), ("1.M", .notANumber), ("1.2.3M", .notANumber), ("1.0000000001M", .notANumber),
            ("0.0001K", .outOfRange), ("8589934592.0G", .outOfRange),
            ("1KK", .notANumber), ("1B", .notANumber), ("MB", .notANumber), ("1MBB", .notANumber), ("1iB", .notANumber),
            ("\u{0661}", .notANumber), ("1\u{212A}", .notANumber), ("0", .outOfRange),
            ("0G", .outOfRange), ("9223372036854775808", .outOfRange), ("9999999999G", .outOfRange),
        ] as [(String, ByteRate.Failure)]
    )
    func `an invalid rate is rejected`(_ text: String, _ failure: ByteRate.Failure) {
        #expect(throws: failure) { try ByteRate(parsing: text) }
    }

    @Test(arguments: [("1000", "1000"), ("1024", "1K"), ("1536k", "1536K"), ("2048K", "2M"), ("4G", "4G")])
    func `a rate is written in its shortest form`(_ text: String, _ written: String) throws {
        #expect(try ByteRate(parsing: text).description == written)
    }
}

@Suite(.timeLimit(.minutes(4)), .computing)
struct RateScheduleTests {
    typealias Entry = RateSchedule.Entry

    private static let office = "Mon-Fri 08:00-18:00 1M, else none"
    private static let night = "Fri 22:00-06:00 64K, Sat Sun none, 12:00-13:00 2M, else 4M"

    @Test(
        arguments: [
            (office, .monday, 479, nil), (office, .monday, 480, 1 << 20), (office, .friday, 1079, 1 << 20),
            (office, .friday, 1080, nil), (office, .saturday, 600, nil), (office, .sunday, 600, nil),
            // After midnight, an interval still belongs to the day on which it began.
            (night, .friday, 1319, 4 << 20), (night, .friday, 1320, 64 << 10), (night, .friday, 1439, 64 << 10),
            (night, .saturday, 0, 64 << 10), (night, .saturday, 359, 64 << 10), (night, .saturday, 360, nil),
            // The first matching entry applies.
            (night, .saturday, 720, nil), (night, .monday, 720, 2 << 20), (night, .monday, 780, 4 << 20),
            ("Sun 23:00-01:00 1", .monday, 59, 1), ("Sun 23:00-01:00 1", .monday, 60, nil),
            ("else 5", .tuesday, 0, 5), ("else none", .tuesday, 0, nil), ("7", .tuesday, 0, 7),
            ("10:00-00:00 7", .tuesday, 1439, 7), ("10:00-00:00 7", .tuesday, 0, nil),
            // A minute beyond the day belongs to the day before or after.
            (office, .sunday, 1440 + 480, 1 << 20), (office, .tuesday, 480 - 1440, 1 << 20),
        ] as [(String, RateSchedule.Weekday, Int, Int64?)]
    )
    func `the first matching entry sets the limit`(
        _ text: String,
        _ weekday: RateSchedule.Weekday,
        _ minute: Int,
        _ limit: Int64?
    ) throws {
        #expect(try RateSchedule(parsing: text).limit(weekday: weekday, minuteOfDay: minute) == limit)
    }

    @Test(arguments: [
        ("  mon-FRI\t8:00-18:00 1024k ,ELSE None", "Mon-Fri 08:00-18:00 1M, else none"),
        ("Mon Wed Thu 1", "Mon Wed-Thu 1, else none"), ("Fri-Mon 1", "Mon Fri-Sun 1, else none"),
        ("Mon-Sun 00:00-24:00 1", "1, else none"), ("Sat-Sat 1", "Sat 1, else none"),
        ("08:00-09:00 17:30-00:00 1", "08:00-09:00 1, 17:30-00:00 1, else none"), ("else 3K", "else 3K"),
    ])
    func `a schedule is written in its canonical form`(_ text: String, _ written: String) throws {
        let schedule = try RateSchedule(parsing: text)
        #expect(schedule.description == written)
        #expect(RateSchedule(written) == schedule)
    }

    private static let order = "expected days such as Mon-Fri, then hours such as 08:00-18:00, then one rate"
    private static let number = "a rate is a number such as 500K or 1.5M, or none"

    @Test(arguments: [
        ("", "", order), ("1M,", "", order), ("Mon", "Mon", order), ("1M Mon", "1M Mon", order),
        ("08:00-18:00 Mon 1M", "08:00-18:00 Mon 1M", order), ("Mon 1M 2M", "Mon 1M 2M", order),
        ("Mon-Tue-Wed 1M", "Mon-Tue-Wed 1M", order), ("Funday 1M", "Funday 1M", order),
        ("08:00-25:00 1", "08:00-25:00 1", order), ("08:60-10:00 1", "08:60-10:00 1", order),
        ("8-18 1", "8-18 1", order), ("08:00-24:01 1", "08:00-24:01 1", order), ("else 1, Mon 2", "else 1", order),
        ("else", "else", "a rate must follow else"), ("else 1 2", "else 1 2", "a rate must follow else"),
        ("Mon fast", "fast", number), ("else -1", "-1", number), ("Mo 1", "Mo 1", order),
        ("Mon 0", "0", "the rate is out of range; use none for no limit"),
    ])
    func `an invalid text is rejected`(_ text: String, _ part: String, _ problem: String) {
        let error = DownloadError(.invalidRequest, "\"\(part)\" is not a valid entry of a rate schedule: \(problem).")
        #expect(throws: error) { try RateSchedule(parsing: text) }
        #expect(RateSchedule(text) == nil)
    }

    @Test(arguments: [
        (Entry(days: [], bytesPerSecond: 1), "has no days"), (Entry(from: -1, bytesPerSecond: 1), "a day has 1440"),
        (Entry(from: 1440, to: 0, bytesPerSecond: 1), "a day has 1440"),
        (Entry(to: 1441, bytesPerSecond: 1), "a day has 1440"),
        (Entry(from: 5, to: 5, bytesPerSecond: 1), "a whole day is"),
        (Entry(from: .min, to: .max, bytesPerSecond: 1), "a day has 1440"),
        (Entry(bytesPerSecond: 0), "must be above zero"), (Entry(bytesPerSecond: -1), "must be above zero"),
    ])
    func `an invalid entry is rejected`(_ entry: Entry, _ problem: String) {
        let error = #expect(throws: DownloadError.self) { try RateSchedule([entry]) }
        #expect(error?.code == .invalidRequest && error?.message.contains(problem) == true)
    }

    @Test(arguments: [Int.min, .max])
    func `an out-of-range minute belongs to another day`(_ minute: Int) throws {
        let schedule = try RateSchedule(parsing: "Mon 1, else 2")
        #expect(schedule.limit(weekday: .monday, minuteOfDay: minute) != nil)
    }

    @Test func `a schedule has at most a hundred entries`() throws {
        let entries = [Entry](repeating: Entry(bytesPerSecond: 1), count: 100)
        #expect(try RateSchedule(entries).entries.count == 100)
        #expect(throws: DownloadError.self) { try RateSchedule(entries + entries) }
        #expect(throws: DownloadError.self) { try RateSchedule(entries, otherwise: 0) }
        #expect(RateSchedule(String(repeating: "1,", count: 10_000) + "1") == nil)
    }

    /// The table has each minute of the week; entries are written in reverse order, because the first one applies.
    @Test(arguments: 0..<10)
    func `random schedules match a table of the week's minutes`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let rates: [Int64?] = [nil, 1, 1000, 1 << 20, .max]
        let entries = (0..<Int.random(in: 0...6, using: &random)).map { _ in
            let start = Int.random(in: 0..<1440, using: &random)
            let end = (start + Int.random(in: 1..<1440, using: &random)) % 1440
            let days = RateSchedule.Weekday.allCases.filter { _ in Bool.random(using: &random) }
            let rate = rates.randomElement(using: &random) ?? nil
            return Entry(days: days.isEmpty ? [.sunday] : Set(days), from: start, to: end, bytesPerSecond: rate)
        }
        let schedule = try RateSchedule(entries, otherwise: rates.randomElement(using: &random) ?? nil)
        #expect(RateSchedule(schedule.description) == schedule)
        let week = 7 * 1440
        var table = [Int64?](repeating: schedule.otherwise, count: week)
        for entry in entries.reversed() {
            for day in entry.days {
                var minute = entry.start
                repeat {
                    table[((day.rawValue - 1) * 1440 + minute) % week] = entry.bytesPerSecond
                    minute += 1
                } while minute % 1440 != entry.end
            }
        }
        for _ in 0..<100 {
            let minute = Int.random(in: 0..<week, using: &random)
            let weekday = try #require(RateSchedule.Weekday(rawValue: minute / 1440 + 1))
            #expect(schedule.limit(weekday: weekday, minuteOfDay: minute % 1440) == table[minute])
        }
    }
}
