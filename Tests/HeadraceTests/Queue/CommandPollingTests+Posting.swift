import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Processes that post commands and wait for their results.
extension CommandPollingTests {
    /// Posts commands, lets `take` handle them like a manager, and returns the outcome of the post.
    private func leaving<Value: Sendable>(
        in directory: URL,
        _ leave: @escaping @Sendable (DownloadRegistry) async throws -> Value,
        _ take: () async throws -> Void
    ) async throws -> Result<Value, any Error> {
        let inbox = CommandSpool(in: directory.filePath)
        return try await withThrowingTaskGroup(of: Result<Value, any Error>.self) { group in
            group.addTask {
                do {
                    return .success(try await leave(DownloadRegistry(directory: directory)))
                } catch {
                    return .failure(error)
                }
            }
            while try !inbox.hasCommands { await Task.yield() }
            try await take()
            return try #require(try await group.next())
        }
    }

    @Test(arguments: [true, false])
    func `the caller of a quarantined command learns the path of its file`(_ isAdding: Bool) async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { _ in
                let request = try request("a")
                let result = try await leaving(in: directory) { registry in
                    if isAdding {
                        try await registry.add([request]).isDone
                    } else {
                        try await registry.perform(.pause([Download.ID(rawValue: 1)]))
                    }
                } _: {
                    // Rename the command, as an earlier release does with unknown commands.
                    let folder = directory.appending(path: CommandSpool.folderName)
                    let name = try #require(
                        try FileProbe.names(in: folder).first { $0.hasSuffix(CommandSpool.suffix) }
                    )
                    let file = folder.appending(path: name).filePath
                    try FileSystem.system.replace(file, file + CommandSpool.unreadSuffix)
                }
                let error = #expect(throws: DownloadError.self) { try result.get() }
                #expect(error?.code == .fileSystem)
                #expect(error?.message.contains(CommandSpool.unreadSuffix) == true)
            }
        }
    }

    @Test func `adding a file that the manager adds meanwhile returns the identity in the queue`() async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { manager in
                let requests = try ["a", "b"].map { try request($0) }
                let first = Locked<Download.ID?>(nil)
                let result = try await leaving(in: directory) {
                    try await $0.add(requests).ids
                } _: {
                    let download = try await manager.download(requests[1])
                    first.withLock { $0 = download.id }
                    try await manager.takeCommands()
                }
                let ids = try result.get()
                #expect(ids.last == first.withLock { $0 })
                #expect(await manager.downloads.dropFirst(2).map(\.id) == ids.reversed())
            }
        }
    }

    @Test func `adding a file that the manager adds with another checksum is rejected`() async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { manager in
                let requests = try [[1], [2]].map { try request("a", Checksum(.sha256, of: $0)) }
                let result = try await leaving(in: directory) {
                    try await $0.add([requests[0]]).isDone
                } _: {
                    try await manager.download(requests[1])
                    try await manager.takeCommands()
                }
                let error = #expect(throws: DownloadError.self) { try result.get() }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains(requests[1].checksums[0].hexadecimal) == true)
            }
        }
    }

    @Test func `a posted addition gets the identity of the download that it was merged into, even if that has ended`()
        throws
    {
        let request = try request("a", Checksum(.sha256, of: [1]))
        let (posted, other, older) = (Download.ID(rawValue: 1), Download.ID(rawValue: 2), Download.ID(rawValue: 3))
        var ended = DownloadRegistry.Known(id: other, number: 2, isActive: false)
        let earlier = DownloadRegistry.Known(id: older, number: 1, expectations: request.expectations, isActive: false)
        // Regression: the identity of an addition that the manager had skipped was returned.
        #expect(try [DownloadRegistry.Known]().identity(of: request, posted: posted) == nil)
        #expect(try [ended].identity(of: request, posted: posted) == nil)
        #expect(try [ended].identity(of: request, posted: other) == other)
        #expect(try [ended, earlier].identity(of: request, posted: posted) == older)
        ended.expectations = request.expectations
        #expect(try [ended, earlier].identity(of: request, posted: posted) == other)
        #expect(try [ended, earlier].identity(of: request, posted: older) == older)
    }

    @Test func `concurrent additions of one file all return the same identity`() async throws {
        try await withDirectory { directory in
            let request = try request("a")
            let registry = DownloadRegistry(directory: directory)
            let ids = try await withThrowingTaskGroup(of: [Download.ID].self) { group in
                for _ in 0..<8 { group.addTask { try await registry.add([request]).ids } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let list = try await registry.downloads()
            #expect(list.count == 1)
            #expect(Set(ids) == Set(list.map(\.id)))
        }
    }
}
