import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BeginTimeTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    @Test(arguments: [
        ("+30m", 1800), ("+90s", 90), ("+1h30m", 5400), ("+2d", 172_800), ("+1d1h1m1s", 90_061), ("+0s", 0),
    ])
    func `a delay is relative to now`(_ text: String, seconds: TimeInterval) throws {
        #expect(BeginTime.date(text, now: now) == now + seconds)
    }

    @Test(arguments: [
        ("2026-05-01T22:00:00Z", 1_777_672_800), ("2026-05-01T22:00Z", 1_777_672_800),
        ("2026-05-01 22:00:30Z", 1_777_672_830), ("2026-05-01T22:00:00.5Z", 1_777_672_800),
        ("2026-05-01T22:00:00+02:00", 1_777_665_600), ("2026-05-01T22:00-0130", 1_777_678_200),
        ("1969-12-31T23:59:59Z", -1), ("2028-02-29T00:00:00Z", 1_835_395_200),
    ])
    func `a date with a zone is independent of the local zone`(_ text: String, seconds: TimeInterval) throws {
        #expect(BeginTime.date(text, now: now) == Date(timeIntervalSince1970: seconds))
    }

    @Test
    func `a date without a zone is local, and without a time it is midnight`() throws {
        let midnight = try #require(BeginTime.date("2026-05-01", now: now))
        #expect(BeginTime.date("2026-05-01T00:00", now: now) == midnight)
        #expect(BeginTime.date("2026-05-01T01:02:03", now: now) == midnight + 3723)
        // The largest offset of a time zone.
        #expect(abs(midnight.timeIntervalSince1970 - 1_777_593_600) <= 14 * 3600)
    }

    @Test(arguments: ["2026-05-01T22:00", "2026-12-31T23:59:59", "2026-01-02T03:04"])
    func `a date is formatted as it was given`(_ text: String) throws {
        #expect(BeginTime.text(try #require(BeginTime.date(text, now: now))) == text)
    }

    @Test(arguments: [
        "", "+", "tomorrow", "+5", "+5x", "+1m1h", "+-5m", "5m", "+1.5h", "+99999999999s", "2026-05-01Z", "2026-13-01",
        "2026-02-30T00:00Z", "2026-00-10", "2026-05-01T24:00Z", "2026-05-01T22:60Z", "2026-05-01T22:00z", "26-05-01",
        "2026-05-01T22", "２026-05-01", "2026-05-01T22:00+99:99", "2026-05-01T22:00+24:00", "2026-05-01T22:00-01:60",
    ])
    func `an invalid time is rejected`(_ text: String) {
        #expect(BeginTime.date(text, now: now) == nil)
    }
}
