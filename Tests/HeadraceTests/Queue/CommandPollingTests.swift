import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The commands of other processes, from their files to the queue on the disk.
@Suite(.timeLimit(.minutes(4)))
struct CommandPollingTests {
    private typealias Fixture = RegistryFixture
    typealias Durability = DownloadConfiguration.Durability

    /// Each command changes a queue with a waiting and a paused download; changes of waiting downloads are not synced.
    static let commands: [RegistryCommand] = [
        .add([Fixture.entry(3)]), .pause([1]), .resume([2]), .cancel([1]), .remove([2], deletingFiles: false),
        .move(2, .first), .priority(1, 9),
    ]

    /// Runs a manager that owns the registry in a directory, or its remains, and starts no downloads.
    func withManager(
        _ directory: URL,
        _ durability: Durability = .none,
        files: FileSystem,
        isFirst: Bool = true,
        clock: TestClock = TestClock(),
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.registryDirectory = directory
                    $0.startsDownloads = false
                    $0.durability = durability
                },
                transport: NoTransport(),
                files: files,
                clock: AnyClock(clock)
            )
        )
        do {
            var entries = [Fixture.entry(1), Fixture.entry(2)]
            entries[1].request.startsPaused = true
            if isFirst { try await manager.commandServer.carryOutAndFlush(.add(entries), for: manager) }
            try await body(manager)
            await manager.shutdown()
        } catch {
            await manager.shutdown()
            throw error
        }
    }

    func request(_ name: String, _ checksum: Checksum? = nil) throws -> DownloadRequest {
        var request = DownloadRequest(
            try #require(URL(string: "http://h/\(name)")),
            to: .directory(URL(filePath: "/home/user/Downloads", directoryHint: .isDirectory))
        )
        request.checksums = checksum.map { [$0] } ?? []
        return request
    }

    /// Runs the body with the directory of a registry.
    func withDirectory(_ body: (URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            try await body(folder.appending(path: "registry", directoryHint: .isDirectory))
        }
    }

    @Test(arguments: commands, [Durability.none, .full])
    func `a command's change is synced before its file is removed`(
        _ command: RegistryCommand,
        _ durability: Durability
    ) async throws {
        try await withDirectory { directory in
            let recorder = FileSystemRecorder(to: .unsynced)
            try await withManager(directory, durability, files: recorder.fileCalls) { manager in
                try CommandSpool(in: directory.filePath).post(command)
                let before = recorder.calls.count
                try await manager.takeCommands()
                let calls = recorder.calls.dropFirst(before)
                let write = try #require(calls.lastIndex { if case .write = $0 { true } else { false } })
                let sync = try #require(calls.lastIndex(of: .sync))
                let removal = try #require(calls.lastIndex(of: .remove))
                #expect(write < sync && sync < removal)
            }
        }
    }

    @Test func `all commands of one poll share one sync`() async throws {
        try await withDirectory { directory in
            let recorder = FileSystemRecorder(to: .unsynced)
            try await withManager(directory, files: recorder.fileCalls) { manager in
                for command in Self.commands { try CommandSpool(in: directory.filePath).post(command) }
                let before = recorder.calls.count
                try await manager.takeCommands()
                #expect(recorder.calls.dropFirst(before).count { $0 == .sync } == 1)
                #expect(try CommandSpool(in: directory.filePath).hasCommands == false)
            }
        }
    }

    @Test(arguments: commands)
    func `a command refused by a full disk stays until it is in the journal`(_ command: RegistryCommand) async throws {
        try await withDirectory { directory in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced, fullWhile: { isFull.withLock { $0 } })
            let inbox = CommandSpool(in: directory.filePath)
            let registry = DownloadRegistry(directory: directory)
            try await withManager(directory, files: recorder.fileCalls) { manager in
                let before = try await registry.downloads()
                try inbox.post(command)
                isFull.withLock { $0 = true }
                for _ in 0..<2 {
                    let error = await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
                    #expect(error?.code == .diskFull)
                    #expect(try inbox.hasCommands)
                }
                #expect(try await registry.downloads() == before)
                isFull.withLock { $0 = false }
                try await manager.takeCommands()
                #expect(try !inbox.hasCommands)
                #expect(try await registry.downloads() != before)
            }
        }
    }

    @Test func `an addition that a full disk refuses does not block the commands after it`() async throws {
        try await withDirectory { directory in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced, fullWhile: { isFull.withLock { $0 } })
            let inbox = CommandSpool(in: directory.filePath)
            try await withManager(directory, files: recorder.fileCalls) { manager in
                for command in [
                    .add([Fixture.entry(3)]), .pause([1]), .add([Fixture.entry(4)]), .move(3, .first),
                ] as [RegistryCommand] {
                    try inbox.post(command)
                }
                isFull.withLock { $0 = true }
                await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
                #expect(await manager.downloads.map(\.state) == [.paused, .paused])
                isFull.withLock { $0 = false }
                try await manager.takeCommands()
                #expect(try !inbox.hasCommands)
                #expect(await manager.downloads.map(\.id.rawValue) == [3, 1, 2, 4])
            }
        }
    }

    @Test func `failing polls back off, are reported once, and return to normal after a success`()
        async throws
    {
        try await withDirectory { directory in
            let isBroken = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == .names, isBroken.withLock({ $0 }) { throw SystemError(errno: EIO) }
            }
            let clock = TestClock()
            try await withManager(directory, files: recorder.fileCalls, clock: clock) { manager in
                let events = manager.events
                try CommandSpool(in: directory.filePath).post(.pause([1]))
                isBroken.withLock { $0 = true }
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask { try await manager.serveCommands() }
                    for seconds in [1, 2, 4, 8, 16, 30] {
                        try await clock.sleeperArmed(for: .seconds(seconds))
                        clock.advance(by: .seconds(seconds))
                    }
                    try await clock.sleeperArmed(for: .seconds(30))
                    #expect(await manager.downloads.map(\.state) == [.waiting, .paused])
                    isBroken.withLock { $0 = false }
                    clock.advance(by: .seconds(30))
                    try await clock.sleeperArmed(for: .milliseconds(500))
                    #expect(await manager.downloads.map(\.state) == [.paused, .paused])
                    group.cancelAll()
                }
                await manager.shutdown()
                var failures = 0
                for await event in events { if case .registryFailed = event { failures += 1 } }
                #expect(failures == 1)
            }
        }
    }

    /// Regression: the refused changes were written only with the next other change.
    @Test func `changes refused by a full disk are written by the next poll, without a command`() async throws {
        try await withDirectory { directory in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced, fullWhile: { isFull.withLock { $0 } })
            let registry = DownloadRegistry(directory: directory)
            try await withManager(directory, files: recorder.fileCalls) { manager in
                isFull.withLock { $0 = true }
                let events = manager.events
                await manager.downloads.first?.pause()
                for await event in events { if case .registryFailed = event { break } }
                await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
                isFull.withLock { $0 = false }
                try await manager.takeCommands()
                #expect(try await registry.downloads().map(\.state) == [.paused, .paused])
            }
        }
    }

    /// If the command were applied again, it would undo a later command.
    @Test func `a command that waits only for the disk is not applied again`() async throws {
        try await withDirectory { directory in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced, fullWhile: { isFull.withLock { $0 } })
            try await withManager(directory, files: recorder.fileCalls) { manager in
                let download = try #require(await manager.downloads.first)
                try CommandSpool(in: directory.filePath).post(.pause([download.id.rawValue]))
                isFull.withLock { $0 = true }
                await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
                #expect(download.state == .paused)
                await download.resume()
                isFull.withLock { $0 = false }
                try await manager.takeCommands()
                #expect(download.state == .waiting)
            }
            let list = try await DownloadRegistry(directory: directory).downloads()
            #expect(list.map(\.state) == [.waiting, .paused])
        }
    }

    @Test(arguments: Crash.allCases)
    func `X01 X02 after a crash at any change a command is pending or applied`(_ crash: Crash) async throws {
        for command in Self.commands {
            let disk = MemoryDisk()
            let posted = Locked(0)
            try await withManager(URL(filePath: "/list"), files: disk.calls) { manager in
                try CommandSpool(in: "/list", calls: disk.calls).post(command)
                posted.withLock { $0 = disk.changes.count }
                try await manager.takeCommands()
            }
            let done = try Fixture.open("/list", calls: MemoryDisk(disk.image).calls).list.snapshot
            for count in posted.withLock({ $0 })...disk.changes.count {
                let image = crash.image(after: disk.changes.prefix(count), seed: UInt64(count))
                let left = try CommandSpool(in: "/list", calls: MemoryDisk(image).calls).take()
                guard left.items.isEmpty else { continue }
                let list = try Fixture.open("/list", calls: MemoryDisk(image).calls).list.snapshot
                #expect(list == done, "\(crash), \(command), after \(count) changes")
            }
        }
    }

    /// Regression: a command was deleted as soon as the queue had its change, even if no sync had covered the change.
    @Test func `X01 X02 a command applied by a killed manager is kept until its change is on the disk`()
        async throws
    {
        for command in Self.commands {
            var (kills, isKilled) = (0, true)
            while isKilled {
                let rest = Locked<Int?>(nil)
                let disk = MemoryDisk { _ throws(SystemError) in
                    let isAlive = rest.withLock { rest in
                        rest = rest.map { $0 - 1 }
                        return rest ?? 0 >= 0
                    }
                    guard isAlive else { throw SystemError(errno: EIO) }
                }
                try await withManager(URL(filePath: "/list"), files: disk.calls) { manager in
                    try CommandSpool(in: "/list", calls: disk.calls).post(command)
                    rest.withLock { [kills] in $0 = kills }
                    try? await manager.takeCommands()
                }
                isKilled = rest.withLock { rest in
                    defer { rest = nil }
                    return rest ?? 0 < 0
                }
                try await withManager(URL(filePath: "/list"), files: disk.calls, isFirst: false) { manager in
                    try await manager.takeCommands()
                }
                let done = try Fixture.open("/list", calls: MemoryDisk(disk.image).calls).list.snapshot
                let cut = Crash.cutOfAll.image(after: disk.changes, seed: 0)
                let left = try CommandSpool(in: "/list", calls: MemoryDisk(cut).calls).take()
                let list = try Fixture.open("/list", calls: MemoryDisk(cut).calls).list.snapshot
                #expect(!left.items.isEmpty || list == done, "\(command), killed after \(kills) changes")
                kills += 1
            }
            #expect(kills > 2)
        }
    }

    @Test(arguments: commands)
    func `a command taken by a cancelled task stays, and the next poll applies it`(
        _ command: RegistryCommand
    ) async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { manager in
                let inbox = CommandSpool(in: directory.filePath)
                try inbox.post(command)
                await withDiscardingTaskGroup { group in
                    group.cancelAll()
                    group.addTask { try? await manager.takeCommands() }
                }
                #expect(try inbox.hasCommands)
                // Callers that wait until everything is done rely on this.
                #expect(await manager.performer.commands.needsPoll)
                try await manager.takeCommands()
                #expect(await !manager.performer.commands.needsPoll)
                #expect(try !inbox.hasCommands)
            }
        }
    }

    @Test func `an invalid command is quarantined, and the commands after it are applied`() async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { manager in
                let inbox = CommandSpool(in: directory.filePath)
                var entry = Fixture.entry(3)
                entry.request.userInfo = ["note": String(repeating: "x", count: 700_000)]
                try inbox.post(.add([entry]), at: 1)
                try inbox.post(.move(1, .after(DownloadID(rawValue: 77))), at: 2)
                try inbox.post(.pause([1]), at: 3)
                try await manager.takeCommands()
                #expect(await manager.downloads.map(\.state) == [.paused, .paused])
                let names = try FileProbe.names(in: directory.appending(path: CommandSpool.folderName))
                #expect(names.count == 2)
                #expect(names.allSatisfy { $0.hasSuffix(CommandSpool.refusedSuffix) })
            }
        }
    }

    /// Regression: each command waited for the next of two polls per second.
    @Test func `a command is applied as soon as it is posted`() async throws {
        try await withDirectory { directory in
            let clock = TestClock()
            try await withManager(directory, files: .unsynced, clock: clock) { manager in
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask { try await manager.serveCommands() }
                    let download = try #require(await manager.downloads.first)
                    let steps: [(RegistryCommand, DownloadState)] = [(.pause([1]), .paused), (.resume([1]), .waiting)]
                    for (command, state) in steps {
                        // The manager sleeps until its next poll, which never comes because no time passes.
                        try await clock.sleeperArmed(for: .milliseconds(500))
                        try CommandSpool(in: directory.filePath).post(command)
                        for await now in download.states where now == state { break }
                    }
                    group.cancelAll()
                }
            }
        }
    }

    /// If the spool directory does not exist, or the system does not report changes in it.
    @Test func `without notifications a command is applied by the next poll`() async throws {
        try await withDirectory { directory in
            let clock = TestClock()
            try await withManager(directory, files: .unsynced, clock: clock) { manager in
                let inbox = directory.appending(path: CommandSpool.folderName)
                try Data().write(to: inbox)
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask { try await manager.serveCommands() }
                    try await clock.sleeperArmed(for: .seconds(1))
                    try FileManager.default.removeItem(at: inbox)
                    try CommandSpool(in: directory.filePath).post(.pause([1]))
                    clock.advance(by: .seconds(1))
                    let download = try #require(await manager.downloads.first)
                    for await state in download.states where state == .paused { break }
                    group.cancelAll()
                }
            }
        }
    }

    /// How a manager loses the directory of its registry.
    enum Loss: CaseIterable {
        case removed, movedAway, withoutLock

        func happen(to directory: URL) throws {
            switch self {
            case .removed: try FileManager.default.removeItem(at: directory)
            case .movedAway:
                let place = directory.deletingLastPathComponent().appending(path: "elsewhere")
                try FileManager.default.moveItem(at: directory, to: place)
            case .withoutLock:
                try FileManager.default.removeItem(at: directory.appending(path: RegistryLock.fileName))
            }
        }
    }

    /// Regression: the earlier manager took the commands of the new registry, and overwrote its journal.
    @Test(arguments: Loss.allCases)
    func `a manager that lost its registry reports it and leaves a new registry alone`(_ loss: Loss) async throws {
        try await withDirectory { directory in
            try await withManager(directory, files: .unsynced) { old in
                try loss.happen(to: directory)
                // The registry also counts as lost if no other manager has replaced it.
                var error = await #expect(throws: DownloadError.self) { try await old.takeCommands() }
                #expect(error?.cause is RegistryLoss)
                try await withManager(directory, files: .unsynced, isFirst: loss != .withoutLock) { new in
                    try CommandSpool(in: directory.filePath).post(.pause([1]))
                    error = await #expect(throws: DownloadError.self) { try await old.serveCommands() }
                    #expect(error?.code == .fileSystem && error?.cause is RegistryLoss)
                    #expect(error?.message.contains("/registry is gone: ") == true)
                    error = await #expect(throws: DownloadError.self) { try await old.download(request("old")) }
                    #expect(error?.cause is RegistryLoss)
                    #expect(await new.downloads.map(\.state) == [.waiting, .paused])
                    try await new.takeCommands()
                    #expect(await new.downloads.map(\.state) == [.paused, .paused])
                }
            }
            let list = try await DownloadRegistry(directory: directory).downloads()
            #expect(list.map(\.state) == [.paused, .paused])
        }
    }
}
