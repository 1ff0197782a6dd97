import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Registries with entries that no manager of this release would write.
@Suite(.timeLimit(.minutes(4)))
struct RegistryRetentionTests {
    private typealias Fixture = RegistryFixture

    private let lists = RegistryTests()

    /// Runs a manager that owns the registry and starts no downloads.
    private func withManager(
        _ folder: URL,
        _ disk: MemoryDisk,
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        try await lists.withManager(folder, files: disk.calls, configure: { $0.startsDownloads = false }, body)
    }

    /// Regression: removing the first download never finished.
    @Test(arguments: [RegistryEntry.State.waiting, .paused, .running], RemovalOrderTests.Verb.allCases)
    func `of two downloads of one file the first survives, the second fails, and both can be removed`(
        _ state: RegistryEntry.State,
        _ verb: RemovalOrderTests.Verb
    ) async throws {
        for order in [[0, 1], [1, 0]] {
            let folder = URL(filePath: "/list", directoryHint: .isDirectory)
            let disk = MemoryDisk()
            let list = try Fixture.open("/list/registry", calls: disk.calls).list
            var twin = Fixture.entry(1, state)
            try list.append([.added([twin])])
            twin = RegistryEntry(id: 2, twin.request, state: state, label: 1, number: 1)
            try list.append([.added([twin])])
            list.close()
            try await withManager(folder, disk) { manager in
                let downloads = await manager.downloads
                #expect(await lists.kinds(manager) == [state == .paused ? .paused : .waiting, .failed])
                if case .failed(let error) = downloads[1].state {
                    #expect(error.code == .busy && error.message.contains(downloads[0].id.description))
                }
                await downloads[1].resume()
                #expect(downloads[1].state.kind == .failed)
                for index in order { await verb.run(on: downloads[index]) }
            }
            let image = try Fixture.open("/list/registry", calls: disk.calls).list.snapshot
            #expect(image.ordered.map(\.state) == (verb == .cancel ? [.cancelled, .cancelled] : []))
        }
    }

    /// Regression: compacting the journal lost the download.
    @Test func `a download with an unresolvable folder is reported and stays in the registry`() async throws {
        let isFull = Locked(false)
        let disk = MemoryDisk { _ throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
        }
        // A registry in the root has no parent folder to resolve relative paths against.
        let list = try Fixture.open("/registry", calls: disk.calls).list
        let path = try #require(RelocatablePath("registry:file"))
        let homeless = RegistryEntry(
            id: 1,
            RegistryRequest(url: "http://h/file", destination: .file(path)),
            state: .failed(code: "httpStatus", message: "No."),
            label: 5,
            number: 7
        )
        try list.append([.added([homeless, Fixture.entry(2), Fixture.entry(3)])])
        list.close()
        let root = URL(filePath: "/", directoryHint: .isDirectory)
        try await withManager(root, disk) { manager in
            let events = manager.events
            let downloads = await manager.downloads
            #expect(downloads.map(\.id.rawValue) == [2, 3])
            isFull.withLock { $0 = true }
            await downloads[0].pause()
            var findings: [String] = []
            for await event in events {
                if case .registryDamaged(let finding) = event { findings.append(finding) }
                if case .registryFailed = event { break }
            }
            #expect(findings.count == 1 && findings[0].contains(Download.ID(rawValue: 1).description))
            isFull.withLock { $0 = false }
            await downloads[1].remove()
        }
        let image = try Fixture.open("/registry", calls: disk.calls).list.snapshot
        #expect(image[1] == homeless)
        #expect(image.entries.map(\.id).sorted() == [1, 2])
    }
}
