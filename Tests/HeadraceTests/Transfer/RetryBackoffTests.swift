import HeadraceTestSupport
import Testing

@testable import Headrace

/// A schedule with its randomness; a class, because `#expect` takes no mutating calls.
private final class TransferState {
    var backoff: RetryBackoff
    private var random: SeededRandom

    init(seed: UInt64 = 1, _ configure: (inout RetryPolicy) -> Void = { _ in }) {
        backoff = RetryBackoff(RetryPolicy(configure))
        random = SeededRandom(seed: seed)
    }

    func fail(retryAfter: Duration? = nil, isForgiven: Bool = false) -> Duration? {
        backoff.failed(retryAfter: retryAfter, isForgiven: isForgiven, using: &random)
    }

    func progress(_ bytes: Int64, earning earned: Int64? = nil) {
        backoff.progressed(by: bytes, earning: earned ?? bytes)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct RetryBackoffTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `delays are random up to a bound that doubles to the maximum`(_ seed: UInt64) throws {
        let attempts = TransferState(seed: seed) {
            $0.maxFailures = 1000
            $0.maxTotalFailures = 1000
        }
        for attempt in 0..<1000 {
            let delay = try #require(attempts.fail())
            #expect(delay >= .zero)
            #expect(delay <= .seconds(attempt < 6 ? 1 << attempt : 60))
        }
    }

    @Test func `T14 delays differ, so that downloads that fail together do not retry together`() {
        let delays = (1...100).map { TransferState(seed: $0).fail() }
        #expect(Set(delays).count > 80)
        #expect(delays.contains { $0.map { $0 < .milliseconds(250) } ?? false })
        #expect(delays.contains { $0.map { $0 > .milliseconds(750) } ?? false })
    }

    @Test func `the same seed gives the same delays`() {
        func delays() -> [Duration?] {
            let attempts = TransferState(seed: 7)
            return (0..<7).map { _ in attempts.fail() }
        }
        #expect(delays() == delays())
        #expect(delays().map { $0 != nil } == [true, true, true, true, true, false, false])
    }

    @Test(arguments: [0, -1])
    func `a limit of no failures fails at once`(_ maxFailures: Int) {
        let attempts = TransferState { $0.maxFailures = maxFailures }
        #expect(attempts.fail() == nil)
    }

    /// Otherwise a server that forces a download to restart again and again could keep it busy forever.
    @Test func `bytes downloaded again earn no further failures`() {
        let attempts = TransferState {
            $0.maxFailures = 2
            $0.maxTotalFailures = 10
        }
        for _ in 0..<10 {
            attempts.progress(5 << 20, earning: 0)
            #expect(attempts.fail() != nil)
        }
        attempts.progress(5 << 20, earning: 0)
        #expect(attempts.fail() == nil)
        attempts.progress(5 << 20, earning: 1 << 20)
        #expect(attempts.fail() != nil)
    }

    @Test func `progress resets the failure count and the delays`() throws {
        let attempts = TransferState { $0.maxFailures = 3 }
        for _ in 0..<3 { #expect(attempts.fail() != nil) }
        attempts.progress(0)
        #expect(attempts.fail() == nil)
        attempts.progress(1)
        #expect(try #require(attempts.fail()) <= .seconds(1))
        #expect(attempts.backoff.failures == 1)
    }

    @Test func `a forgiven failure uses no retry, but lengthens the delays`() throws {
        let attempts = TransferState {
            $0.maxFailures = 2
            $0.maxTotalFailures = 2
        }
        for _ in 0..<2 { #expect(attempts.fail() != nil) }
        let delays = try (0..<100).map { _ in try #require(attempts.fail(isForgiven: true)) }
        #expect(attempts.backoff.failures == 102)
        #expect(delays.contains { $0 > .seconds(30) } && delays.allSatisfy { $0 <= .seconds(60) })
        #expect(attempts.fail() == nil)
        attempts.progress(1 << 20)
        #expect(attempts.backoff.failures == 0)
        #expect(attempts.fail() != nil)
        #expect(attempts.fail() == nil)
    }

    @Test func `without retries no failure is forgiven`() {
        let attempts = TransferState { $0.maxFailures = 0 }
        #expect(attempts.fail(isForgiven: true) == nil)
    }

    @Test func `T13 one byte per attempt does not retry forever`() {
        let attempts = TransferState { $0.maxTotalFailures = 50 }
        while attempts.fail() != nil { attempts.progress(1) }
        #expect(attempts.backoff.totalFailures == 50)
    }

    @Test func `real progress earns further retries`() {
        let attempts = TransferState { $0.maxTotalFailures = 2 }
        for _ in 0..<1000 {
            #expect(attempts.fail() != nil)
            attempts.progress(1 << 20)
        }
    }

    @Test func `T05 Retry-After is never shortened and may exceed the maximum delay`() throws {
        let attempts = TransferState {
            $0.maxDelay = .seconds(1)
            $0.maxFailures = 100
            $0.maxTotalFailures = 100
        }
        for seconds in 2...50 {
            #expect(attempts.fail(retryAfter: .seconds(seconds)) == .seconds(seconds))
        }
        let delay = try #require(attempts.fail(retryAfter: .zero))
        #expect(delay >= .zero && delay <= .seconds(1))
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(1)])
    func `extreme settings and counts do not overflow`(_ duration: Duration) {
        let attempts = TransferState {
            $0.baseDelay = duration
            $0.maxDelay = duration
            $0.maxFailures = .max
            $0.maxTotalFailures = .max
        }
        for _ in 0..<100 {
            #expect(attempts.fail().map { $0 >= .zero } == true)
            attempts.progress(.max)
            attempts.progress(.min)
        }
        #expect(attempts.backoff.totalFailures == 100)
    }

    @Test func `the bound does not overflow after many failures`() {
        let attempts = TransferState {
            $0.maxDelay = .seconds(Int64.max)
            $0.maxFailures = .max
            $0.maxTotalFailures = .max
        }
        for _ in 0..<200 { #expect(attempts.fail() != nil) }
    }
}
