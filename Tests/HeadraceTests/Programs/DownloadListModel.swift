import Headrace
import HeadracePlatform
import HeadraceTestSupport
import Observation
import Testing

@MainActor @Observable
final class DownloadListModel {
    private(set) var rows: [DownloadSnapshot] = []
    let manager: DownloadManager

    init(_ manager: DownloadManager) {
        self.manager = manager
    }

    func follow() async {
        for await rows in manager.snapshots { self.rows = rows }
    }

    func toggle(_ row: DownloadSnapshot) async {
        guard let download = await manager[row.id] else { return }
        switch row.state {
        case .waiting, .running: await download.pause()
        case .paused, .failed, .cancelled, .finished: await download.resume()
        }
    }
}

/// Runs the documentation's model without its view.
@Suite(.timeLimit(.minutes(4)))
struct DownloadQueueModelTests {
    @Test func `the sample model has a row for each download, and its button works`() async throws {
        let gate = try Gate()
        let file = Response.file(Resource(size: 300_000))
        let held = file.held(after: 1000, until: gate)
        try await withFaultServer(.sequence([held, held], then: file)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let model = await DownloadListModel(manager)
                    async let followed: Void = model.follow()
                    let request = DownloadRequest(server.url("/a"), to: .directory(folder))
                    let download = try await manager.download(request)
                    try await waits(for: .running, in: model)
                    await model.toggle(try #require(await model.rows.first))
                    try await waits(for: .paused, in: model)
                    await model.toggle(try #require(await model.rows.first))
                    try await waits(for: .running, in: model)
                    await download.cancel()
                    try await waits(for: .cancelled, in: model)
                    await model.toggle(try #require(await model.rows.first))
                    try await waits(for: .finished, in: model)
                    await manager.shutdown()
                    await followed
                }
            }
        }
    }

    private func waits(for state: DownloadState.Kind, in model: DownloadListModel) async throws {
        while await model.rows.first?.state.kind != state { try await Task.sleep(for: .milliseconds(5)) }
    }
}
