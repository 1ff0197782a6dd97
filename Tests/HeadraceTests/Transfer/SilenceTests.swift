import HeadraceTestSupport
import Testing

@testable import Headrace

/// The progress of a download while its server sends nothing.
@Suite(.timeLimit(.minutes(4)))
struct SilenceTests {
    @Test func `a silent transfer reports all its bytes and a speed that falls to zero`() async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration { $0.durability = .none },
                    transport: FakeTransport {
                        FakeTransport.Reply(DiskFixture.response($0, sending: 600_000), end: .silence)
                    },
                    clock: AnyClock(clock)
                )
            )
            let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
            async let _: Void = {
                while (try? await clock.sleeperArmed()) != nil { clock.advance(by: .seconds(1)) }
            }()
            for await progress in download.progress
            where progress.bytesReceived == 600_000 && progress.bytesPerSecond < 1000 { break }
            await manager.shutdown()
        }
    }
}
