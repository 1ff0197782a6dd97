import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The effects of a caller's retry policy.
@Suite(.timeLimit(.minutes(4)))
struct RetryPolicyTests {
    private let file = ResumeFixture.old

    private func run(
        _ response: Response,
        mirrors: Int = 0,
        _ configure: (inout RetryPolicy) -> Void
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                try await ResumeFixture.run(from: server, in: folder) {
                    configure(&$0.retryPolicy)
                } change: {
                    $0.mirrors = (0..<mirrors).map { server.url("/m\($0)") }
                }
            }
        }
    }

    @Test func `the decide hook can retry a failure that would have been final`() async throws {
        let requested = Locked<[String]>([])
        let response = Response.sequence([.status(404), .status(404)], then: .file(file))
        let outcome = try await run(response) { policy in
            policy.maxFailures = 0
            policy.decide = { error, failures in
                requested.withLock { $0.append("\(error.statusCode ?? 0) \(failures)") }
                return .retry(after: .zero)
            }
        }
        #expect(outcome.isExact)
        #expect(requested.withLock { $0 } == ["404 1", "404 2"])
    }

    @Test func `the decide hook can fail a download at once, without a retry and without its mirrors`() async throws {
        let outcome = try await run(.status(503), mirrors: 2) { $0.decide = { _, _ in .fail } }
        #expect(outcome.error?.statusCode == 503)
        #expect(outcome.requests.count == 1)
    }

    @Test func `a decide hook that returns standard changes nothing`() async throws {
        let response = Response.sequence([.status(503), .file(file).truncated(after: 1000)], then: .file(file))
        let outcome = try await run(response) { $0.decide = { _, _ in .standard } }
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 3)
    }

    @Test func `without retries the first failure is final`() async throws {
        let outcome = try await run(.status(503)) { $0 = .none }
        #expect(outcome.error?.statusCode == 503)
        #expect(outcome.requests.count == 1)
    }

    @Test func `an invalid retry policy is rejected`() {
        let wrong: [(inout RetryPolicy) -> Void] = [
            { $0.maxFailures = -1 }, { $0.maxTotalFailures = -1 }, { $0.maxRetriesPerHostAndMinute = 0 },
            { $0.baseDelay = .seconds(-1) }, { $0.maxDelay = .seconds(-1) },
        ]
        for change in wrong {
            let configuration = DownloadConfiguration { change(&$0.retryPolicy) }
            #expect(throws: DownloadError.self) { try configuration.validate() }
        }
    }
}
