import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Numbers stay with their downloads, as the job numbers of a shell do.
@Suite(.timeLimit(.minutes(4)))
struct DownloadNumberTests {
    private let lists = RegistryTests()

    private func withManager(
        _ folder: URL,
        _ files: FileSystem = .unsynced,
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        try await lists.withManager(folder, files: files, configure: { $0.startsDownloads = false }, body)
    }

    private func requests(_ names: [String], in folder: URL) throws -> [DownloadRequest] {
        try names.map { try lists.request($0, in: folder) }
    }

    /// The names of the files in the order of the queue, with their numbers.
    private func numbers(_ snapshots: [DownloadSnapshot]) -> [String] {
        snapshots.map { "\($0.request.url.lastPathComponent)\($0.number ?? 0)" }
    }

    private func numbers(_ manager: DownloadManager) async -> [String] { numbers(await manager.currentSnapshots()) }

    @Test
    func `a download keeps its number when others are moved, cancelled or removed, and after a restart`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            let registry = lists.registry(folder)
            try await withManager(folder) { manager in
                let downloads = try await manager.download(requests(["a", "b", "c", "d"], in: folder))
                #expect(await numbers(manager) == ["a1", "b2", "c3", "d4"])
                try await downloads[2].move(to: .first)
                #expect(await numbers(manager) == ["c3", "a1", "b2", "d4"])
                await downloads[0].cancel()
                await downloads[1].remove()
                #expect(await numbers(manager) == ["c3", "a1", "d4"])
                // Adding `d` again returns its download; adding the cancelled `a` again creates a new download.
                _ = try await manager.download(requests(["d", "a", "e"], in: folder))
                #expect(await numbers(manager) == ["c3", "a1", "d4", "a5", "e6"])
                try await manager.journalWriter.flush(manager)
                let saved = numbers(try await registry.downloads())
                #expect(await saved == numbers(manager))
            }
            try await withManager(folder) { manager in
                #expect(await numbers(manager) == ["c3", "a1", "d4", "a5", "e6"])
                await manager.downloads[4].remove()
                _ = try await manager.download(requests(["f"], in: folder))
                #expect(await numbers(manager) == ["c3", "a1", "d4", "a5", "f6"])
                try await manager.remove(.all)
                _ = try await manager.download(requests(["g"], in: folder))
                #expect(await numbers(manager) == ["g1"])
            }
        }
    }

    @Test func `the manager that owns the registry numbers the downloads that other processes add`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = lists.registry(folder)
            _ = try await registry.add(requests(["a", "b"], in: folder))
            #expect(numbers(try await registry.downloads()) == ["a1", "b2"])
            try await withManager(folder) { manager in
                let (ids, isDone) = try await registry.add(requests(["c", "a"], in: folder))
                #expect(!isDone)
                _ = try await manager.download(requests(["d"], in: folder))
                // The numbers that the user saw before the move.
                let seen = try await registry.downloads()
                #expect(try await registry.perform(.move(ids[0], to: .first)) == false)
                #expect(try await registry.perform(.cancel(seen.filter { $0.number == 2 }.map(\.id))) == false)
                try await manager.takeCommands()
                #expect(await numbers(manager) == ["c4", "a1", "b2", "d3"])
                #expect(await manager.downloads[2].state == .cancelled)
                let saved = numbers(try await registry.downloads())
                #expect(await saved == numbers(manager))
            }
        }
    }

    @Test func `a download that stays only in the registry keeps its number`() async throws {
        let disk = MemoryDisk()
        // A registry in the root has no parent folder to resolve relative paths against.
        let list = try RegistryFixture.open("/registry", calls: disk.calls).list
        let homeless = RegistryRequest(
            url: "http://h/file",
            destination: .file(try #require(RelocatablePath("registry:file")))
        )
        let known = RegistryFixture.entry(0)
        try list.append([.added([known, RegistryEntry(id: 9, homeless, label: 5, number: 2)])])
        list.close()
        let root = URL(filePath: "/", directoryHint: .isDirectory)
        try await withManager(root, disk.calls) { manager in
            _ = try await manager.download(requests(["a"], in: URL(filePath: "/folder")))
            #expect(await manager.currentSnapshots().map(\.number) == [1, 3])
        }
        let image = try RegistryFixture.open("/registry", calls: disk.calls).list.snapshot
        #expect(image[9]?.number == 2)
        #expect(image.entries.compactMap(\.number).sorted() == [1, 2, 3])
    }

    @Test func `random commands, restarts and journal rewrites change no number`() async throws {
        for seed: UInt64 in 0..<6 {
            try await withTemporaryDirectory { folder in
                var random = SeededRandom(seed: seed)
                var known: [Download.ID: Int] = [:]
                var count = 0
                for _ in 0..<4 {
                    try await withManager(folder) { manager in
                        for _ in 0..<12 {
                            let downloads = await manager.downloads
                            let one = downloads.randomElement(using: &random)
                            switch Int.random(in: 0..<8, using: &random) {
                            case 0..<3:
                                let names = (0..<Int.random(in: 1...3, using: &random)).map { "x\(count + $0)" }
                                count += names.count
                                let highest = known.values.max() ?? 0
                                for (index, new) in try await manager.download(requests(names, in: folder)).enumerated()
                                {
                                    known[new.id] = highest + 1 + index
                                }
                            case 3: try await one?.move(to: .index(.random(in: 0..<downloads.count, using: &random)))
                            case 4: await one?.cancel()
                            case 5:
                                await one?.setPriority(DownloadPriority(rawValue: .random(in: -9...9, using: &random)))
                            case 6: try await manager.journalWriter.flush(manager)
                            default:
                                await one?.remove()
                                if let one { known[one.id] = nil }
                            }
                            let snapshots = await manager.currentSnapshots()
                            let numbers = snapshots.map { ($0.id, $0.number ?? 0) }
                            #expect(Dictionary(uniqueKeysWithValues: numbers) == known, "seed \(seed)")
                        }
                    }
                    let path = folder.appending(path: "registry").path
                    if Bool.random(using: &random) {
                        let list = try RegistryFixture.open(path, calls: .unsynced).list
                        try list.compact()
                        list.close()
                    }
                    let image = try RegistryFile.read(path).snapshot
                    let numbers = image.entries.map { (Download.ID(rawValue: $0.id), $0.number ?? 0) }
                    #expect(Dictionary(uniqueKeysWithValues: numbers) == known, "seed \(seed)")
                }
            }
        }
    }
}
