import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Verbs called by a hook while the transfer of its download waits for the hook.
@Suite(.timeLimit(.minutes(1)))
struct HookVerbsTests {
    enum Verb: Sendable, CaseIterable {
        case pause
        case cancel
        case remove
        case pauseAll
        case cancelAll

        /// The state that the download ends in.
        var state: DownloadState.Kind {
            switch self {
            case .pause, .pauseAll: .paused
            case .cancel, .remove, .cancelAll: .cancelled
            }
        }

        func run(on download: Download) async {
            switch self {
            case .pause: await download.pause()
            case .cancel: await download.cancel()
            case .remove: await download.remove(deletingFile: true)
            case .pauseAll: await download.manager.pauseAll()
            case .cancelAll: await download.manager.cancelAll()
            }
        }
    }

    /// The downloads, so that their hooks can find them.
    private final class Known: Sendable {
        let downloads = Locked<[Download]>([])
        let calls = Locked(0)

        func run(_ verb: Verb) async {
            for download in downloads.withLock({ $0 }) { await verb.run(on: download) }
        }
    }

    /// Adds downloads that a server refuses, and starts them once their hooks can find them.
    private func run(
        _ count: Int,
        _ known: Known,
        decide: (@Sendable (DownloadError, Int) async -> RetryPolicy.Decision)? = nil,
        linkProvider: DownloadRequest.LinkProvider? = nil,
        expecting state: DownloadState.Kind
    ) async throws {
        try await withTemporaryDirectory { folder in
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.maxConcurrentDownloads = .fixed(count)
                        $0.retryPolicy.decide = decide
                    },
                    transport: FakeTransport { _ in FakeTransport.Reply(404) },
                    clock: AnyClock(TestClock())
                )
            )
            var requests: [DownloadRequest] = []
            for number in 0..<count {
                let url = try #require(URL(string: "http://h/\(number)"))
                var request = DownloadRequest(url, to: .directory(folder))
                request.linkProvider = linkProvider
                request.startsPaused = true
                requests.append(request)
            }
            let downloads = try await manager.download(requests)
            known.downloads.withLock { $0 = downloads }
            try await manager.resume(.all)
            await manager.waitUntilIdle()
            #expect(downloads.map(\.state.kind) == Array(repeating: state, count: count))
            await manager.shutdown()
        }
    }

    /// Regression: the verb waited for the transfer, and the transfer waited for the hook.
    @Test(arguments: Verb.allCases)
    func `a retry hook can stop its own download`(_ verb: Verb) async throws {
        let known = Known()
        try await run(
            1,
            known,
            decide: { _, _ in
                await known.run(verb)
                return .standard
            },
            expecting: verb.state
        )
    }

    @Test(arguments: Verb.allCases)
    func `a link provider can stop its own download`(_ verb: Verb) async throws {
        let known = Known()
        let provider = DownloadRequest.LinkProvider {
            await known.run(verb)
            throw CancellationError()
        }
        try await run(1, known, linkProvider: provider, expecting: verb.state)
    }

    @Test(arguments: Verb.allCases)
    func `hooks of two downloads that both stop both do not deadlock`(_ verb: Verb) async throws {
        let known = Known()
        try await run(
            2,
            known,
            decide: { _, _ in
                known.calls.withLock { $0 += 1 }
                while known.calls.withLock({ $0 }) < 2 { await Task.yield() }
                await known.run(verb)
                return .standard
            },
            expecting: verb.state
        )
    }
}
