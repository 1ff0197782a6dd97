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

    private func transfer(_ id: CurlDriver.TransferID, _ request: TransportRequest) throws -> CurlTransfer {
        let handle = try #require(hr_easy_init())
        let stream = ResponseStream(highWatermark: 4096, pool: ChunkPool())
        return CurlTransfer(id, handle, request, stream, CurlTime()) { _ in }
    }

    @Test(arguments: [true, false])
    func `a request waits for a shared connection only a little longer than libcurl may`(_ isShared: Bool) throws {
        let lane = CurlLane(try #require(hr_multi_init()), isShared: isShared)
        defer { lane.close() }
        let url = try #require(URL(string: "https://example.org/a"))
        let transfer = try transfer(0, TransportRequest(url: url, connectTimeout: .seconds(15)))
        defer { hr_easy_cleanup(transfer.handle) }
        #expect(lane.add(transfer))
        #expect(!transfer.hasWaitedTooLong(at: transfer.start + .seconds(15)))
        #expect(transfer.hasWaitedTooLong(at: transfer.start + .seconds(17)) == isShared)
        lane.remove(transfer)
    }

    /// Regression: a transfer that could not be configured was subtracted without having been added.
    @Test func `only transfers that were added are counted`() throws {
        let lane = CurlLane(try #require(hr_multi_init()), isShared: true)
        defer { lane.close() }
        let request = TransportRequest(url: try #require(URL(string: "https://example.org/a")))
        let transfers = [try transfer(0, request), try transfer(1, request)]
        defer { for transfer in transfers { hr_easy_cleanup(transfer.handle) } }
        #expect(lane.add(transfers[0]))
        lane.remove(transfers[1])
        #expect(lane.transfers == [ConnectionReuse.Server(request): 1])
        lane.remove(transfers[0])
        #expect(lane.transfers.isEmpty)
    }
}
#endif
