import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

private func makeURL(_ text: String) -> URL {
    guard let url = URL(string: text) else { preconditionFailure("\(text) is not a URL") }
    return url
}

/// The reactions to failed attempts.
@Suite(.timeLimit(.minutes(1)))
struct TransferStateTests {
    typealias Reaction = TransferState.FailureReaction
    typealias Facts = TransferState.FailureFacts

    private static let origin = makeURL("http://a/file")
    private static let mirror = makeURL("http://b/file")
    private static let lost = DownloadError(.connectionLost, "Lost.")
    private static let missing = DownloadError(.httpStatus, "Gone.", statusCode: 404)
    private static let tls = DownloadError(.tls, "No certificate.")
    private static let full = DownloadError(.diskFull, "Full.")
    private static let silent = DownloadError(.stalled, "Silent.")
    private static let refused = DownloadError(.nameResolution, "No such host.")

    private static func state(
        mirrors: [URL] = [],
        method: String = "GET",
        checksums: [Checksum] = [],
        _ configure: (inout RetryPolicy) -> Void = { _ in }
    ) -> TransferState {
        var request = DownloadRequest(origin, to: .directory(URL(filePath: "/d")))
        (request.mirrors, request.checksums) = (mirrors, checksums)
        (request.method, request.isRepeatable) = (method, method != "GET")
        let configuration = DownloadConfiguration {
            $0.retryPolicy.baseDelay = .zero
            configure(&$0.retryPolicy)
        }
        return TransferState(request, configuration, at: .zero)
    }

    /// Decides about an error as the standard policy does, without a link provider.
    private static func standard(
        _ state: inout TransferState,
        _ error: DownloadError,
        _ facts: Facts = Facts()
    ) -> Reaction {
        var random = SeededRandom(seed: 1)
        let reaction = state.failed(error, facts)
        guard case .decide(let error) = reaction else { return reaction }
        return state.decided(.standard, after: error, facts, using: &random)
    }

    @Test(
        arguments: [
            (lost, Facts(), .decide(lost.about(origin))),
            (missing, Facts(), .decide(missing.about(origin))),
            (missing, Facts(hasLinkProvider: true), .requestLink(missing.about(origin))),
            (lost, Facts(hasLinkProvider: true), .decide(lost.about(origin))),
            (lost, Facts(isNetworkUnsettled: true), .pause(nil, .milliseconds(100))),
            (full, Facts(lacksDescriptors: true), .pause(.waitingForDescriptors(full), .zero)),
            (
                lost, Facts(lacksDescriptors: true, isNetworkUnsettled: true),
                .pause(.waitingForDescriptors(lost), .zero)
            ),
        ] as [(DownloadError, Facts, Reaction)]
    )
    func `the first reaction depends on the error and on the circumstances`(
        _ error: DownloadError,
        _ facts: Facts,
        _ reaction: Reaction
    ) {
        var state = Self.state()
        #expect(state.failed(error, facts) == reaction)
        #expect(state.count == 0)
    }

    @Test(
        arguments: [
            (lost, [], .retry(lost.about(origin), after: .zero)),
            (missing, [], .fail(missing.about(origin))),
            (missing, [mirror], .changeSource(missing.about(origin), next: mirror)),
            (tls, [mirror], .changeSource(tls.about(origin), next: mirror)),
            (full, [mirror], .fail(full.about(origin))),
            (silent, [], .retry(silent.about(origin), after: .zero)),
            (silent, [mirror], .changeSource(silent.about(origin), next: mirror)),
        ] as [(DownloadError, [URL], Reaction)]
    )
    func `the standard policy retries, changes the source or fails`(
        _ error: DownloadError,
        _ mirrors: [URL],
        _ reaction: Reaction
    ) {
        var state = Self.state(mirrors: mirrors)
        #expect(Self.standard(&state, error) == reaction)
        if case .retry = reaction { #expect(state.unpacedFailure == error.about(Self.origin)) }
    }

    @Test func `a silent source has its own retries after the other sources have failed`() {
        var state = Self.state(mirrors: [Self.mirror]) { $0.maxFailures = 2 }
        let error = Self.silent.about(Self.origin)
        #expect(Self.standard(&state, Self.silent) == .changeSource(error, next: Self.mirror))
        let missing = Self.missing.about(Self.mirror)
        #expect(Self.standard(&state, Self.missing) == .changeSource(missing, next: Self.origin))
        for _ in 0..<2 { #expect(Self.standard(&state, Self.silent) == .retry(error, after: .zero)) }
        let isFailure = if case .fail = Self.standard(&state, Self.silent) { true } else { false }
        #expect(isFailure)
    }

    @Test func `a connection lost after a long pause can be retried without end`() {
        var (state, error) = (Self.state(), Self.lost)
        error.followsPause = true
        for _ in 0..<100 {
            let isRetried = if case .retry = Self.standard(&state, error) { true } else { false }
            #expect(isRetried)
        }
    }

    @Test func `of failures that follow the stall of another transfer, every second one is counted`() {
        var (state, error) = (Self.state { $0.maxFailures = 3 }, Self.silent)
        error.followsStall = true
        var retries = 0
        while case .retry = Self.standard(&state, error) { retries += 1 }
        #expect(retries == 7)
    }

    @Test func `sources whose hosts require waits in turn share one retry budget`() {
        var (state, random) = (Self.state(mirrors: [Self.mirror]) { $0.maxFailures = 3 }, SeededRandom(seed: 1))
        #expect(state.postponeSource { _ in true } == Self.mirror)
        let busy = ResponseRejection.status(503).error(retryAfter: .seconds(1), isTransient: true)
        for source in [Self.origin, Self.mirror, Self.origin] {
            #expect(state.failed(busy, holdingBytes: false, using: &random) != nil)
            #expect(state.postponeSource { _ in true } == source)
        }
        #expect(state.failed(busy, holdingBytes: false, using: &random) == nil)
    }

    @Test func `the caller's policy overrides the standard one, except for wrong files`() {
        var random = SeededRandom(seed: 1)
        var state = Self.state()
        let wrong = DownloadError(.checksum, "Wrong.")
        #expect(state.decided(.fail, after: Self.lost, Facts(), using: &random) == .fail(Self.lost))
        #expect(
            state.decided(.retry(after: .seconds(3)), after: Self.full, Facts(), using: &random)
                == .retry(Self.full, after: .seconds(3))
        )
        #expect(
            state.decided(.retry(after: .seconds(-3)), after: Self.full, Facts(), using: &random)
                == .retry(Self.full, after: .zero)
        )
        #expect(state.decided(.retry(after: .zero), after: wrong, Facts(), using: &random) == .fail(wrong))
    }

    @Test func `a new link is requested at most three times without progress`() {
        var state = Self.state()
        let (facts, error) = (Facts(hasLinkProvider: true), Self.missing.about(Self.origin))
        let link = DownloadRequest.Link(makeURL("http://a/new"))
        #expect(state.failed(Self.missing, facts) == .requestLink(error))
        #expect(state.renewed(.success(link), after: error, facts) == .again)
        #expect(state.sources.current == link.url)
        let cause = DownloadError(.connection, "No provider.")
        guard case .requestLink(let next) = state.failed(Self.missing, facts),
            case .decide(let failure) = state.renewed(.failure(cause), after: next, facts)
        else {
            Issue.record("no link was requested")
            return
        }
        #expect(failure.message == "Gone. No new link could be obtained: No provider.")
        #expect(failure.statusCode == 404)
        #expect(state.failed(Self.missing, facts) == .requestLink(Self.missing.about(link.url)))
        #expect(state.failed(Self.missing, facts) == .decide(Self.missing.about(link.url)))
        state.began(holding: 0)
        state.progressed(to: 1)
        #expect(state.failed(Self.missing, facts) == .requestLink(Self.missing.about(link.url)))
    }

    @Test func `a source that stalls twice is left for an untried one, although it makes progress`() {
        var state = Self.state(mirrors: [Self.mirror])
        let facts = Facts(holdsBytes: true)
        state.began(holding: 0)
        state.progressed(to: 10_000)
        let first = Self.standard(&state, Self.silent, facts)
        state.began(holding: 10_000)
        state.progressed(to: 20_000)
        let second = Self.standard(&state, Self.silent, facts)
        #expect(first == .retry(Self.silent.about(Self.origin), after: .zero))
        #expect(second == .changeSource(Self.silent.about(Self.origin), next: Self.mirror))
        // The last untried source has its retries, and then the first one is tried again.
        state.began(holding: 20_000)
        state.progressed(to: 30_000)
        let third = Self.standard(&state, Self.silent, facts)
        #expect(third == .retry(Self.silent.about(Self.mirror), after: .zero))
        #expect(state.sources.hasNext)
    }

    @Test func `stalls with much progress between them do not count together`() {
        var state = Self.state(mirrors: [Self.mirror])
        for held in [2, 4, 6] {
            state.began(holding: Int64(held - 2) << 20)
            state.progressed(to: Int64(held) << 20)
            let reaction = Self.standard(&state, Self.silent, Facts(holdsBytes: true))
            #expect(reaction == .retry(Self.silent.about(Self.origin), after: .zero))
        }
    }

    @Test func `bytes of another version are progress, although there are fewer than before`() {
        var state = Self.state { ($0.maxFailures, $0.maxTotalFailures) = (1, 10) }
        var reactions: [Reaction] = []
        state.began(holding: 0)
        state.progressed(to: 1_500_000)
        reactions.append(Self.standard(&state, Self.lost))
        // In the next attempt, the server has another version, and sends a part of it.
        state.began(holding: 1_500_000)
        let mayRestart = state.restarted(for: .changedEntityTag)
        state.progressed(to: 1_000_000)
        reactions.append(Self.standard(&state, Self.lost))
        state.began(holding: 1_000_000)
        state.progressed(to: 1_000_000)
        let last = Self.standard(&state, Self.lost)
        #expect(mayRestart)
        for reaction in reactions { #expect(reaction == .retry(Self.lost.about(Self.origin), after: .zero)) }
        #expect(last == .fail(Self.lost.about(Self.origin)))
    }

    @Test func `after mixed sources gave a wrong file, neither a new link nor another source is mixed`() throws {
        let checksum = try #require(Checksum(.crc32c, bytes: [1, 2, 3, 4]))
        var state = Self.state(mirrors: [Self.mirror], checksums: [checksum])
        state.resume.accepted(.checksum)
        let next = state.mismatched(.severalSources, keepsBytes: false, isDiskFailure: false)
        #expect(next == .sameSource)
        #expect(state.parts == .none && !state.resume.isVerifiedAtEnd)
        state.renewSource(DownloadRequest.Link(makeURL("http://a/new")))
        #expect(state.parts == .none)
        _ = try state.leaveSource(after: Self.missing, holdingBytes: false)
        #expect(state.sources.current == Self.mirror)
        #expect(state.parts == .none && !state.resume.isVerifiedAtEnd)
    }

    @Test func `a POST is never divided into ranges, whatever happens to its sources`() {
        var state = Self.state(mirrors: [Self.mirror], method: "POST")
        #expect(state.parts == .none)
        state.renewSource(DownloadRequest.Link(makeURL("http://a/new")))
        #expect(state.parts == .none)
        guard case .changeSource = Self.standard(&state, Self.missing) else {
            Issue.record("the mirror is not used")
            return
        }
        #expect(state.parts == .none)
        _ = state.mayRepairDisk()
        #expect(state.parts == .none)
        _ = state.mismatched(.oneResponse, keepsBytes: true, isDiskFailure: false)
        #expect(state.parts == .none)
    }

    @Test(arguments: [true, false], [true, false])
    func `a host that never responded is abandoned after fewer failures`(_ hasResponded: Bool, _ holdsBytes: Bool) {
        var state = Self.state { $0.maxUnreachableFailures = 1 }
        let facts = Facts(holdsBytes: holdsBytes, hasHostResponded: hasResponded)
        #expect(Self.standard(&state, Self.refused, facts) == .retry(Self.refused.about(Self.origin), after: .zero))
        let isAbandoned = !hasResponded && !holdsBytes
        let next = Self.standard(&state, Self.refused, facts)
        #expect(
            next
                == (isAbandoned
                    ? .fail(Self.refused.about(Self.origin)) : .retry(Self.refused.about(Self.origin), after: .zero))
        )
    }

    /// Whatever happens, a run ends: each source is tried a bounded number of times without progress.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a run without progress fails after a bounded number of reactions`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let mirrors = (0..<Int.random(in: 0...3, using: &random)).map { makeURL("http://m\($0)/file") }
        var state = Self.state(mirrors: mirrors) { policy in
            policy.maxUnreachableFailures = Bool.random(using: &random) ? 2 : nil
        }
        let errors = [Self.lost, Self.missing, Self.tls, Self.refused, Self.silent]
        let hasLinkProvider = Bool.random(using: &random)
        var left: Set<URL> = []
        for step in 0..<10_000 {
            let facts = Facts(hasLinkProvider: hasLinkProvider, hasHostResponded: Bool.random(using: &random))
            guard let error = errors.randomElement(using: &random) else { return }
            let (source, count) = (state.sources.current, state.count)
            var reaction = state.failed(error, facts)
            if case .requestLink(let failure) = reaction {
                let link = DownloadRequest.Link(makeURL("http://a/\(step)"))
                let result: Result<DownloadRequest.Link, any Error> =
                    Bool.random(using: &random) ? .success(link) : .failure(Self.lost)
                reaction = state.renewed(result, after: failure, facts)
            }
            if case .decide(let failure) = reaction {
                reaction = state.decided(.standard, after: failure, facts, using: &random)
            }
            switch reaction {
            case .again: #expect(hasLinkProvider && state.count == count)
            case .retry(_, let delay):
                #expect(delay >= .zero && state.count == count + 1 && state.sources.current == source)
                _ = state.unpacedFailure.take()
            case .changeSource(_, let next):
                #expect(next == state.sources.current && state.count == 0)
                left.insert(source)
            case .fail:
                #expect(!state.sources.hasNext)
                #expect(hasLinkProvider || left.union([source]).isSuperset(of: mirrors))
                return
            case .pause, .requestLink, .decide: Issue.record("\(reaction)")
            }
        }
        Issue.record("The run does not end.")
    }
}
