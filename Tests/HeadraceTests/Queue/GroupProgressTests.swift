import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct GroupProgressTests {
    @Test
    func `the fraction is estimated until all sizes are known, and a huge total does not overflow`()
        throws
    {
        let request = DownloadRequest(try #require(URL(string: "http://h/a")), to: .directory(URL(filePath: "/")))
        func snapshot(_ id: UInt64, _ state: DownloadState, _ received: Int64, _ total: Int64?) -> DownloadSnapshot {
            DownloadSnapshot(
                id: Download.ID(rawValue: id),
                request: request,
                state: state,
                progress: DownloadProgress(bytesReceived: received, totalBytes: total, bytesPerSecond: 10)
            )
        }
        let unknown = GroupProgress(of: [snapshot(1, .running, 5, nil), snapshot(2, .running, 5, 10)])
        #expect(unknown.fractionCompleted == 0.25)
        #expect(unknown.isFractionEstimated)
        #expect(unknown.totalBytes == nil)
        #expect(unknown.bytesPerSecond == 20)
        #expect(!unknown.isEnded)
        #expect(DownloadProgress.timeRemaining(.max, bytesPerSecond: 1e-3) == nil)
        #expect(DownloadProgress.timeRemaining(0, bytesPerSecond: 0) == nil)
        let large = GroupProgress(of: [snapshot(1, .running, 5, .max), snapshot(2, .waiting, 5, .max)])
        #expect(large.totalBytes == .max)
        let ended = GroupProgress(of: [snapshot(1, .cancelled, 5, nil), snapshot(2, .running, 5, 15)])
        #expect(ended.fractionCompleted == 0.5)
        #expect(!ended.isFractionEstimated)
        let finished = GroupProgress(of: [
            snapshot(1, .cancelled, 5, nil), snapshot(2, .running, 5, nil), snapshot(3, .running, 10, 10),
            snapshot(4, .waiting, 0, nil),
        ])
        #expect(finished.fractionCompleted == 0.5)
        #expect(GroupProgress(of: []).fractionCompleted == 1)
    }
}
