import HeadracePlatform
import Testing

@testable import Headrace

/// The knowledge about servers that all downloads of a manager share.
@Suite(.timeLimit(.minutes(4)))
struct HostLimiterTests {
    private func url(_ port: Int) throws -> URL { try #require(URL(string: "https://example.org:\(port)/a")) }

    @Test func `only the servers contacted last are remembered`() throws {
        let limiter = HostLimiter(maximum: 6, isStrict: false, retriesPerMinute: nil)
        let experience = HostExperience(connections: 4, rate: 1000)
        for port in 1...3000 {
            limiter.responded(try url(port))
            limiter.record(experience, of: try url(port))
            if port % 500 == 0 { #expect(limiter.hasResponded(try url(1))) }
        }
        #expect(limiter.experience(try url(1)) == experience)
        #expect(limiter.hasResponded(try url(3000)))
        #expect(!limiter.hasResponded(try url(2)))
    }
}
