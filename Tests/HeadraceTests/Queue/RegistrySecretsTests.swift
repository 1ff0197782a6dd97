import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads with secrets, which are never stored, in registries that outlive their manager.
@Suite(.timeLimit(.minutes(4)))
struct RegistrySecretsTests {
    private let lists = RegistryTests()
    private let secret = HeaderField(name: "Authorization", value: "Bearer s3cret")

    private func secretRequest(
        _ path: String = "a",
        in folder: URL,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        try lists.request(path, in: folder) {
            $0.headers = [secret]
            change(&$0)
        }
    }

    /// Leaves a registry with a download that has failed for lack of its secrets.
    private func leaveFailed(in folder: URL) async throws -> Download.ID {
        let id = try await lists.registry(folder).add([secretRequest(in: folder)]).ids[0]
        try await lists.withManager(folder) { manager in
            await manager.waitUntilIdle()
            #expect(await lists.kinds(manager) == [.failed])
        }
        return id
    }

    @Test func `secrets are not stored, and the error says which ones are missing`() async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                _ = try await manager.download(secretRequest(in: folder))
            }
            let file = folder.appending(path: "registry/\(RegistryStore.fileName)")
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(!text.contains("s3cret"))
            let requested = RegistryTests.Asked()
            for _ in 0..<2 {
                try await lists.withManager(folder, requested: requested) { manager in
                    let download = try #require(await manager.downloads.first)
                    await download.resume()
                    let error = await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(error?.code == .credentialsMissing)
                    #expect(error?.message.contains("Authorization") == true)
                }
            }
            #expect(requested.requests.withLock { $0.isEmpty })
            try await lists.withManager(folder) { manager in
                let again = try await manager.download(secretRequest(in: folder))
                #expect(DiskFixture.isExact(try await again.value))
            }
        }
    }

    @Test func `secrets given again are used, even before the download has failed without them`() async throws {
        try await withTemporaryDirectory { folder in
            let kept = try await lists.registry(folder).add(
                [secretRequest(in: folder), secretRequest("b", in: folder)]
            )
            let requested = RegistryTests.Asked()
            try await lists.withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let again = try await manager.download(secretRequest(in: folder))
                #expect(again.id == kept.ids[0])
                #expect(again.request.headers == [secret])
            }
            try await lists.withManager(folder, requested: requested) { manager in
                await manager.waitUntilIdle()
                #expect(await lists.kinds(manager) == [.failed, .failed])
                let again = try await manager.download(secretRequest("b", in: folder))
                _ = try await again.value
            }
            #expect(
                requested.requests.withLock { $0.map { $0.fields.contains { $0.value == secret.value } } } == [true]
            )
        }
    }

    /// Regression: each restart left another entry for the same file.
    @Test func `a request with the secrets revives the failed download in its position`()
        async throws
    {
        let (gate, resource) = (try Gate(), Resource(size: 300_000))
        let file = Response.file(resource)
        let server = Response.sequence([file.held(after: 100_000, until: gate)], then: file)
        try await withFaultServer(server) { server in
            try await withTemporaryDirectory { folder in
                var request = DownloadRequest(server.url("/a"), to: .directory(folder))
                request.headers = [secret]
                var configuration = DownloadConfiguration()
                configuration.maxConnectionsPerDownload = 1
                configuration.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                var ids: [Download.ID] = []
                try await withDownloadManager(configuration) { manager in
                    var other = DownloadRequest(server.url("/b"), to: .directory(folder))
                    other.startsPaused = true
                    let downloads = try await manager.download([request, other])
                    ids = downloads.map(\.id)
                    for await progress in downloads[0].progress where progress.bytesReceived > 0 { break }
                }
                gate.open()
                try await withDownloadManager(configuration) { manager in
                    await manager.waitUntilIdle()
                    #expect(await lists.kinds(manager) == [.failed, .paused])
                    let again = try await manager.download(request)
                    #expect(again.id == ids[0])
                    #expect(resource.body.difference(fromFileAt: try await again.value) == nil)
                }
                #expect(server.requests.map { $0.rangeStart ?? 0 > 0 } == [false, true])
                #expect(server.requests.allSatisfy { $0.values(of: secret.name) == [secret.value] })
                try await withDownloadManager(configuration) { manager in
                    await manager.retryFailed()
                    await manager.waitUntilIdle()
                    #expect(await manager.downloads.map(\.id) == ids)
                    #expect(await lists.kinds(manager) == [.finished, .paused])
                }
            }
        }
    }

    @Test func `a revived download is paused if the request starts paused, even if it is added twice`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            let id = try await leaveFailed(in: folder)
            try await lists.withManager(folder) { manager in
                let requests = try (0..<2).map { _ in try secretRequest(in: folder) { $0.startsPaused = true } }
                #expect(try await manager.download(requests).map(\.id) == [id, id])
                #expect(await lists.kinds(manager) == [.paused])
            }
            try await lists.withManager(folder) { manager in #expect(await lists.kinds(manager) == [.paused]) }
        }
    }

    @Test func `a request for another file than that of the download without secrets adds a new download`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            let id = try await leaveFailed(in: folder)
            try await lists.withManager(folder) { manager in
                let failed = try #require(await manager[id])
                let small = try await manager.download(secretRequest(in: folder) { $0.expectedSize = 1 })
                #expect(small == failed)
                await manager.waitUntilIdle()
                #expect(await lists.kinds(manager) == [.failed])
            }
            try await lists.withManager(folder) { manager in
                let size = Int64(DiskFixture.size)
                let right = try await manager.download(secretRequest(in: folder) { $0.expectedSize = size })
                #expect(right.id != id)
                #expect(DiskFixture.isExact(try await right.value))
            }
        }
    }

    @Test func `reviving a download fails if the registry cannot be written`() async throws {
        try await withTemporaryDirectory { folder in
            let id = try await leaveFailed(in: folder)
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(fullWhile: { isFull.withLock { $0 } })
            try await lists.withManager(folder, files: recorder.fileCalls) { manager in
                isFull.withLock { $0 = true }
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.download(secretRequest(in: folder))
                }
                #expect(error?.code == .diskFull)
                #expect(await lists.kinds(manager) == [.failed])
                isFull.withLock { $0 = false }
                await manager.retryFailed()
                let download = try #require(await manager[id])
                #expect(DiskFixture.isExact(try await download.value))
            }
        }
    }

    @Test func `changes to a download without its secrets are stored`() async throws {
        try await withTemporaryDirectory { folder in
            let request = try secretRequest(in: folder) {
                $0.earliestBegin = Date(timeIntervalSince1970: 32_000_000_000)
                $0.rateLimit = 1
            }
            let id = try await lists.registry(folder).add([request]).ids[0]
            try await lists.withManager(folder) { manager in
                let download = try #require(await manager[id])
                try await download.setRateLimit(5000)
                await download.resume()
                await manager.waitUntilIdle()
            }
            try await lists.withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let kept = try #require(await manager[id]).request
                #expect(kept.earliestBegin == nil)
                #expect(kept.rateLimit == 5000)
            }
        }
    }

    /// The transfer checks for the secrets, and the queue learns of its failure a moment later.
    @Test func `secrets supplied while a download fails for lack of them are used`() throws {
        let folder = URL(filePath: "/list", directoryHint: .isDirectory)
        let request = try secretRequest(in: folder)
        let kept = RegistryRequest(request, bases: RegistryBaseDirectories(of: folder))
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: nil)
        let observers = QueueObservers()
        let id = Download.ID(rawValue: 1)
        let bare = QueueAddition(id: id, request: try lists.request("a", in: folder), withoutSecrets: kept)
        _ = state.add([bare], skippingInvalid: false, observers: observers, at: .zero)
        let again = state.add(
            [QueueAddition(request: request)],
            skippingInvalid: false,
            observers: observers,
            at: .zero
        )
        #expect(again.records.map(\.id) == [id])
        let effects = state.ended(id, .failed(.credentialsMissing(kept.withheldNames)), at: .zero)
        #expect(effects.contains { if case .start(let run) = $0 { run.record.id == id } else { false } })
        #expect(state.records[id]?.request.headers == [secret])
    }

    @Test func `a new URL with a login supplies the missing login`() throws {
        let folder = URL(filePath: "/list", directoryHint: .isDirectory)
        let url = try #require(URL(string: "http://user:s3cret@h/a"))
        let request = DownloadRequest(url, to: .directory(folder))
        let kept = RegistryRequest(request, bases: RegistryBaseDirectories(of: folder))
        var bare = request
        bare.url = url.withoutCredentials
        let record = DownloadRecord(id: Download.ID(rawValue: 1), request: bare, withoutSecrets: kept)
        #expect(record.lacksSecrets)
        record.relink(to: DownloadRequest.Link(try #require(URL(string: "http://user:s3cret@h/b"))), with: [])
        #expect(!record.lacksSecrets && record.request.url.user() == "user")
    }

    @Test func `a request with the secrets that another process adds revives the failed download`() throws {
        let folder = URL(filePath: "/list", directoryHint: .isDirectory)
        let request = try secretRequest(in: folder)
        let kept = RegistryRequest(request, bases: RegistryBaseDirectories(of: folder))
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: nil)
        let ids = [1, 2].map { Download.ID(rawValue: $0) }
        for (id, addition) in zip(
            ids,
            [
                QueueAddition(request: try lists.request("a", in: folder), withoutSecrets: kept),
                QueueAddition(request: request),
            ]
        ) {
            var addition = addition
            addition.id = id
            let added = state.add([addition], skippingInvalid: false, observers: QueueObservers(), at: .zero)
            #expect(added.records.map(\.id) == [ids[0]])
            guard id == ids[0] else { continue }
            _ = state.ended(id, .failed(.credentialsMissing(kept.withheldNames)), at: .zero)
        }
        #expect(state.scheduler.phase(of: ids[0]) == .running)
    }
}
