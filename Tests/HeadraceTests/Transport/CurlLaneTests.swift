#if os(Linux)
import CHeadrace
import HeadracePlatform
import Testing

@testable import Headrace

/// The transfers that are counted to share the connections of a server evenly.
@Suite(.timeLimit(.minutes(1)))
struct CurlLaneTests {
    /// libcurl must be loaded before any of its functions is called.
    init() { #expect(hr_curl_load() > 0) }

    /// Regression: a transfer that could not be configured was subtracted without having been added.
    @Test func `only transfers that were added are counted`() throws {
        let lane = CurlLane(try #require(hr_multi_init()), isShared: true)
        defer { lane.close() }
        let request = TransportRequest(url: try #require(URL(string: "https://example.org/a")))
        let transfers = try (0..<2).map { id in
            CurlTransfer(
                CurlDriver.TransferID(id),
                try #require(hr_easy_init()),
                request,
                ResponseStream(highWatermark: 4096, pool: ChunkPool()),
                CurlTime()
            ) { _ in }
        }
        defer { for transfer in transfers { hr_easy_cleanup(transfer.handle) } }
        #expect(lane.add(transfers[0]))
        lane.remove(transfers[1])
        #expect(lane.transfers == [ConnectionReuse.Server(request): 1])
        lane.remove(transfers[0])
        #expect(lane.transfers.isEmpty)
    }
}
#endif
