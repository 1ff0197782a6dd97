import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct HostRetryLimitsTests {
    @Test func `a burst of retries starts at once, later ones once a second`() {
        var retries = HostRetryLimits(perMinute: 60)
        let now = Duration.seconds(100)
        let begins = (0..<14).map { _ in retries.begin(of: "h", at: now) }
        #expect(begins == Array(repeating: now, count: 11) + [101, 102, 103].map { .seconds($0) })
        #expect(retries.begin(of: "other", at: now) == now)
        let later = Duration.seconds(200)
        #expect(retries.begin(of: "h", at: later) == later)
    }

    @Test func `without a limit each retry starts when it is due`() {
        var retries = HostRetryLimits(perMinute: nil)
        for second in 0..<100 {
            let time = Duration.milliseconds(second)
            #expect(retries.begin(of: "h", at: time) == time)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no minute has more retries than the limit and the burst, and none starts early`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let perMinute = Int.random(in: 1...120, using: &random)
        var retries = HostRetryLimits(perMinute: perMinute)
        var now = Duration.zero
        var begins: [Duration] = []
        for _ in 0..<500 {
            now += .milliseconds(Int.random(in: 0...400, using: &random))
            let begin = retries.begin(of: "h", at: now)
            #expect(begin >= now)
            begins.append(begin)
        }
        for start in begins {
            let count = begins.count { $0 >= start && $0 < start + .seconds(60) }
            #expect(count <= perMinute * 7 / 6 + 2)
        }
    }
}
