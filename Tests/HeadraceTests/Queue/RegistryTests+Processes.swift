import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Changes that other processes make to the registry of a manager, and the state after a kill.
extension RegistryTests {
    func registry(_ folder: URL) -> DownloadRegistry {
        DownloadRegistry(directory: folder.appending(path: "registry", directoryHint: .isDirectory))
    }

    @Test func `the next manager knows when each download started and ended`() async throws {
        try await withTemporaryDirectory { folder in
            func dates(_ snapshots: [DownloadSnapshot]) -> [[Date?]] { snapshots.map { [$0.started, $0.ended] } }
            var saved: [[Date?]] = []
            try await withManager(folder) { manager in
                let names = ["a", "bad", "silent", "b"]
                let downloads = try await manager.download(names.map { try request($0, in: folder) })
                for await state in downloads[2].states where state == .running { break }
                // Its partial file is deleted before its state changes.
                await downloads[2].cancel()
                _ = try await downloads[3].value
                saved = dates(await manager.currentSnapshots())
                #expect(saved.joined().allSatisfy { $0 != nil })
                try await manager.download(request("paused", in: folder) { $0.startsPaused = true })
                saved.append([nil, nil])
            }
            #expect(try await dates(registry(folder).downloads()) == saved)
            try await withManager(folder) { manager in
                #expect(await dates(manager.currentSnapshots()) == saved)
                // The manager then writes all downloads again.
                try FileManager.default.removeItem(
                    at: registry(folder).directory.appending(path: RegistryStore.fileName)
                )
                await manager.downloads.last?.setPriority(1)
            }
            try await withManager(folder) { manager in
                #expect(await dates(manager.currentSnapshots()) == saved)
                await manager.sort { $0.ended ?? .distantPast > $1.ended ?? .distantPast }
                #expect(await names(manager).last == "paused")
                await manager.downloads.first { $0.fileName == "bad" }?.resume()
                await manager.waitUntilIdle()
                let failed = try #require(await manager.currentSnapshots().first { $0.name == "bad" })
                #expect(try #require(failed.started) >= saved[1][1] ?? .distantFuture)
            }
        }
    }

    @Test func `D11 another process cannot merge a request for public addresses into another download`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                var request = try request("a", in: folder) { $0.startsPaused = true }
                try await manager.download(request)
                request.requiresPublicAddress = true
                let error = await #expect(throws: DownloadError.self) { try await registry(folder).add([request]) }
                #expect(error?.code == .invalidRequest)
            }
        }
    }

    @Test func `a registry without an owner is changed at once, and nothing runs`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            #expect(try await registry.downloads() == [])
            let requests = try ["a", "b", "c"].map { try request($0, in: folder) }
            let (ids, isDone) = try await registry.add(requests)
            #expect(isDone)
            #expect(try await registry.downloads().map(\.id) == ids)
            #expect(try await registry.add(requests.reversed()).ids == ids.reversed())
            #expect(try await registry.perform(.move(ids[2], to: .first)))
            #expect(try await registry.perform(.pause([ids[0], Download.ID(rawValue: 7)])))
            #expect(try await registry.perform(.cancel([ids[1]])))
            #expect(try await registry.perform(.setPriority(.high, ids[0])))
            let list = try await registry.downloads()
            #expect(list.map(\.id) == [ids[2], ids[0], ids[1]])
            #expect(list.map(\.state) == [.waiting, .paused, .cancelled])
            #expect(list.map(\.priority) == [.normal, .high, .normal])
            #expect(
                list.map(\.request)
                    == [2, 0, 1].map { index in
                        var request = requests[index]
                        if index == 0 { request.priority = .high }
                        return request
                    }
            )
            #expect(try await registry.perform(.resume([ids[0]])))
            #expect(try await registry.perform(.remove([ids[1]], deletingFiles: false)))
            #expect(try await registry.downloads().map(\.state) == [.waiting, .waiting])
            #expect(try FileProbe.names(in: folder) == ["registry"])
        }
    }

    private func registry(_ folder: URL, _ files: FileSystem) -> DownloadRegistry {
        let system = SimulatedSystem(
            transport: NoTransport(),
            files: files,
            clock: ContinuousClock(),
            executor: globalConcurrentExecutor,
            random: { .random(in: .min ... .max) },
            network: NetworkMonitor(fixed: nil)
        )
        return DownloadRegistry(directory: registry(folder).directory, in: system)
    }

    /// Regression: the later command was carried out first, and the next manager undid it with the earlier one.
    @Test func `a command of a cancelled task does not overtake the commands of a killed manager`() async throws {
        try await withTemporaryDirectory { folder in
            let (registry, request) = (registry(folder), try request("a", in: folder))
            let first = try await registry.add([request]).ids
            let spool = CommandSpool(in: registry.directory.filePath)
            try spool.post(.remove(first.map(\.rawValue), deletingFiles: false))
            let (ids, isDone) = try await withThrowingTaskGroup(of: (ids: [DownloadID], isDone: Bool).self) { group in
                group.cancelAll()
                group.addTask { try await registry.add([request]) }
                return try #require(try await group.next())
            }
            #expect(!isDone)
            try await registry.takeCommands()
            #expect(try await registry.downloads().map(\.id) == ids)
        }
    }

    @Test func `a command is not carried out if the commands before it cannot be read`() async throws {
        try await withTemporaryDirectory { folder in
            let (registry, request) = (registry(folder), try request("a", in: folder))
            let first = try await registry.add([request]).ids
            let spool = CommandSpool(in: registry.directory.filePath)
            try spool.post(.remove(first.map(\.rawValue), deletingFiles: false))
            var files = FileSystem.unsynced
            files.names = { _ throws(SystemError) in throw SystemError(errno: EIO) }
            let broken = self.registry(folder, files)
            await #expect(throws: DownloadError.self) { try await broken.add([request]) }
            try await registry.takeCommands()
            #expect(try await registry.downloads() == [])
        }
    }

    /// Regression: the command stayed, and a later manager added the download all the same.
    @Test func `an addition that fails after its manager has ended is not left for a later manager`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            try await registry.add([request("a", in: folder)])
            let attempts = Locked(0)
            var files = FileSystem.unsynced
            files.lock = { [lock = files.lock] file throws(SystemError) in
                attempts.withLock { $0 += 1 }
                // Another manager has the lock at first.
                guard attempts.withLock({ $0 }) > 1 else { return false }
                return try lock(file)
            }
            files.write = { [write = files.write] file, bytes, offset throws(SystemError) in
                guard attempts.withLock({ $0 < 2 }) else { throw SystemError(errno: ENOSPC) }
                return try write(file, bytes, offset)
            }
            let full = self.registry(folder, files)
            let later = try request("b", in: folder)
            let error = await #expect(throws: DownloadError.self) { try await full.add([later]) }
            #expect(error?.code == .diskFull)
            #expect(attempts.withLock { $0 } > 1)
            #expect(try !CommandSpool(in: registry.directory.filePath).hasCommands)
            #expect(try await registry.downloads().count == 1)
        }
    }

    @Test func `the manager that owns the registry applies other processes' commands in order`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            try await withManager(folder) { manager in
                let silent = try await manager.download(request("silent", in: folder))
                for await progress in silent.progress where progress.bytesReceived == 60_000 { break }
                while try await registry.downloads().map(\.state) != [.running] { await Task.yield() }
                #expect(try await registry.downloads().map(\.progress.bytesReceived) == [60_000])
                let (ids, isDone) = try await registry.add(["a", "bad"].map { try request($0, in: folder) })
                #expect(!isDone)
                #expect(try await registry.perform(.move(ids[1], to: .first)) == false)
                #expect(try await registry.perform(.pause([silent.id])) == false)
                #expect(await manager.downloads == [silent])
                try await manager.takeCommands()
                #expect(silent.state == .paused)
                await manager.waitUntilIdle()
                #expect(await manager.downloads.map(\.id) == [ids[1], silent.id, ids[0]])
                #expect(await kinds(manager) == [.failed, .paused, .finished])
                try await manager.takeCommands()
                #expect(await manager.downloads.count == 3)
            }
            let snapshots = try await registry.downloads()
            #expect(snapshots.map(\.state.kind) == [.failed, .paused, .finished])
            #expect(snapshots.map(\.progress.totalBytes) == [nil, Int64(DiskFixture.size), Int64(DiskFixture.size)])
        }
    }

    /// Regression: the second call returned at once, so a run could end while the other poll was unfinished.
    @Test func `a poll requested while another one runs waits for that one's second pass`() async throws {
        var polls = PollCoordinator()
        let first = polls.begin()
        #expect(first == nil)
        let second = polls.begin()
        let end = try #require(second)
        let isOver = polls.finishUnlessRequested()
        #expect(!isOver)
        let isOverNow = polls.finishUnlessRequested()
        #expect(isOverNow)
        var successes = 0
        for await _ in end { successes += 1 }
        #expect(successes == 1)
        let next = polls.begin()
        #expect(next == nil)
    }

    /// Another tool may, for example, restore an older copy.
    @Test(arguments: [false, true])
    func `a journal that another process removes or replaces is rewritten`(_ isReplaced: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let journal = folder.appending(path: "registry/\(RegistryStore.fileName)")
            try await withManager(folder) { manager in
                _ = try await manager.download(request("silent", in: folder))
                let other = folder.appending(path: "other")
                try Data().write(to: other)
                #expect((isReplaced ? rename(other.filePath, journal.filePath) : unlink(journal.filePath)) == 0)
                _ = try await manager.download(request("silent2", in: folder))
            }
            try await withManager(folder) { manager in #expect(await names(manager) == ["silent", "silent2"]) }
        }
    }

    @Test func `after its process has ended, no download is reported as running`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            try await withManager(folder) { manager in
                let silent = try await manager.download(request("silent", in: folder))
                for await state in silent.states where state == .running { break }
            }
            #expect(try await registry.downloads().map(\.state) == [.waiting])
            // As after a kill: the journal lists a running download, and the lock names a process that does not exist.
            let lock = folder.appending(path: "registry/\(RegistryLock.fileName)")
            try await withManager(folder) { manager in
                for await state in await manager.downloads[0].states where state == .running { break }
                // The journal is written a moment after the state changes.
                while try await registry.downloads().map(\.state) != [.running] { await Task.yield() }
                try Data("2147483647\n".utf8).write(to: lock)
                #expect(try await registry.downloads().map(\.state) == [.waiting])
            }
        }
    }

    @Test func `after its process has ended, a request that must not be repeated is reported as paused`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            var entry = RegistryFixture.entry(1, .running)
            entry.request.method = "POST"
            let list = try RegistryFixture.open(registry.directory).list
            try list.append([.added([entry])])
            list.close()
            #expect(try await registry.downloads().map(\.state) == [.paused])
            try await withManager(folder) { manager in #expect(await kinds(manager) == [.paused]) }
        }
    }

    @Test func `a pending command is applied by the next manager, and a damaged one is reported`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            var id: Download.ID?
            try await withManager(folder, configure: { $0.startsDownloads = false }) { _ in
                id = try await registry.add([request("a", in: folder)]).ids[0]
            }
            let inbox = folder.appending(path: "registry/inbox")
            try Data("nonsense".utf8).write(to: inbox.appending(path: "0000000000000000-1-00000000.command"))
            try await withManager(folder) { manager in
                #expect(await manager.downloads.map(\.id) == [id])
                for await event in manager.events {
                    guard case .registryDamaged(let sentence) = event else { continue }
                    #expect(sentence.contains("0000000000000000-1"))
                    break
                }
                _ = try await manager.downloads[0].value
            }
        }
    }

    /// Otherwise the next manager would carry out the command again after a power cut.
    @Test func `the removal of a command is synced by the next poll if its sync failed`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            let inbox = registry.directory.appending(path: CommandSpool.folderName).filePath
            let results = Locked([false, true, true])
            var files = FileSystem.unsynced
            files.syncDirectory = { path throws(SystemError) in
                guard path.hasSuffix("/" + CommandSpool.folderName) else { return }
                guard results.withLock({ $0.removeFirst() }) else { throw SystemError(errno: EIO) }
            }
            let environment = TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.registryDirectory = registry.directory
                    $0.startsDownloads = false
                },
                transport: FakeTransport { _ in FakeTransport.Reply(404) },
                files: files,
                clock: AnyClock(TestClock())
            )
            let manager = try await DownloadManager(environment: environment)
            try CommandSpool(in: registry.directory.filePath).post(.pause([1]))
            await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
            #expect(try FileProbe.names(in: URL(filePath: inbox)) == [])
            #expect(results.withLock { $0.count } == 2)
            try await manager.takeCommands()
            try await manager.takeCommands()
            #expect(results.withLock { $0.count } == 1)
            await manager.shutdown()
        }
    }

    /// Regression: no command was left for a file that was still active in the journal.
    @Test func `adding a file whose removal is not written yet adds it again`() async throws {
        try await withTemporaryDirectory { folder in
            let (registry, request) = (registry(folder), try request("a", in: folder))
            let isFull = Locked(false)
            var files = FileSystem.unsynced
            files.write = { [write = files.write] file, bytes, offset throws(SystemError) in
                if isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
                return try write(file, bytes, offset)
            }
            let environment = TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.registryDirectory = registry.directory
                    $0.startsDownloads = false
                },
                transport: NoTransport(),
                files: files,
                clock: AnyClock(ContinuousClock())
            )
            let manager = try await DownloadManager(environment: environment)
            let id = try await manager.download(request).id
            isFull.withLock { $0 = true }
            try await manager.remove(.downloads([id]))
            let added = try await withThrowingTaskGroup(of: DownloadID?.self, returning: DownloadID?.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await registry.add([request]).ids[0] }
                group.addTask { @Sendable in
                    while try !CommandSpool(in: registry.directory.filePath).hasCommands {
                        try Task.checkCancellation()
                        await Task.yield()
                    }
                    isFull.withLock { $0 = false }
                    try await manager.takeCommands()
                    return nil
                }
                for try await id in group { if let id { return id } }
                return nil
            }
            #expect(await manager.downloads.map(\.id) == [added])
            await manager.shutdown()
            #expect(try await registry.downloads().map(\.id) == [added])
        }
    }

    /// Regression: only the process that runs the queue reported the damage.
    @Test func `reading a registry reports its damage, even if the same call rewrites the journal`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            let requests = try ["a", "b", "c"].map { try request($0, in: folder) }
            let ids = try await registry.add(requests).ids
            let journal = folder.appending(path: "registry/\(RegistryStore.fileName)")
            var bytes = try FileProbe.bytes(of: journal)
            let path = try #require(bytes.firstRange(of: Array("/b\"".utf8)))
            bytes[path.lowerBound] = UInt8(ascii: "X")
            try Data(bytes).write(to: journal)
            let (downloads, findings) = try await registry.present()
            // Each download has its own line, so the other two are read.
            #expect(downloads.map(\.id) == [ids[0], ids[2]])
            #expect(findings.count == 2 && findings[0].contains(" is damaged"), "\(findings)")
            try CommandSpool(in: registry.directory.filePath).post(.pause([ids[0].rawValue]))
            let (later, again) = try await registry.present()
            #expect(later.map(\.state) == [.paused, .waiting])
            let copy = URL(filePath: journal.filePath + RegistryStore.unreadSuffix)
            #expect(findings[1] == "The next change to the queue will save the present registry as \(copy.filePath).")
            #expect(again == [findings[0], "The previous registry was saved as \(copy.filePath)."])
            #expect(try FileProbe.bytes(of: copy) == bytes)
            #expect(try await registry.present().findings.isEmpty)
        }
    }

    @Test func `reading a registry reports the commands that could not be carried out`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = registry(folder)
            _ = try await registry.add([try request("a", in: folder)])
            var invalid = try request("b", in: folder)
            invalid.method = "TRACE"
            let stored = RegistryRequest(invalid, bases: RegistryBaseDirectories(of: registry.directory))
            try CommandSpool(in: registry.directory.filePath).post(.add([RegistryEntry(id: 7, stored, label: 0)]))
            let (downloads, findings) = try await registry.present()
            #expect(downloads.count == 1)
            #expect(findings == ["An addition by another process was skipped: TRACE is no method for downloads."])
        }
    }

    /// A killed process makes no further file calls.
    @Test func `after a kill at any file call the queue is intact and no finished file is downloaded again`()
        async throws
    {
        var kills = 0
        var isKilled = true
        while isKilled {
            let rest = Locked(kills)
            let recorder = FileSystemRecorder { call throws(SystemError) in
                // A killed process releases its locks, so closing succeeds.
                guard call != .close else { return }
                let isAlive = rest.withLock { rest in
                    rest -= 1
                    return rest >= 0
                }
                guard isAlive else { throw SystemError(errno: EIO) }
            }
            try await withTemporaryDirectory { folder in
                try await fetch(in: folder, recorder.fileCalls)
                try await expectWhole(folder, "after \(kills) calls")
            }
            isKilled = rest.withLock { $0 < 0 }
            kills += 1
        }
        #expect(kills > 20)
    }

    private func fetch(in folder: URL, _ files: FileSystem) async throws {
        do {
            try await withManager(folder, files: files) { manager in
                try await manager.download(["a", "b"].map { try request($0, in: folder) })
                await manager.waitUntilIdle()
            }
        } catch is DownloadError {
            // The run was killed before the queue was complete.
        }
    }

    private func expectWhole(_ folder: URL, _ comment: Comment) async throws {
        try await withManager(folder) { manager in
            let downloads = await manager.downloads
            #expect(downloads.isEmpty || downloads.count == 2, comment)
            await manager.retryFailed()
            await manager.waitUntilIdle()
            for download in downloads { #expect(DiskFixture.isExact(try await download.value), comment) }
            let names = try FileProbe.names(in: folder)
            #expect(names == (downloads.isEmpty ? ["registry"] : ["a", "b", "registry"]), comment)
        }
    }

    @Test func `other processes find the partial files of a manager with a directory for them`() async throws {
        try await withTemporaryDirectory { folder in
            let (registry, partials) = (registry(folder), folder.appending(path: "partials"))
            try await withManager(folder, configure: { $0.partialsDirectory = partials }) { manager in
                let download = try await manager.download(request("silent", in: folder))
                for await progress in download.progress where progress.bytesReceived == 60_000 { break }
            }
            let download = try #require(try await registry.downloads().first)
            #expect(download.progress.bytesReceived == 60_000)
            #expect(FileProbe.size(of: download.partialFile) == 60_000)
            #expect(try FileProbe.names(in: partials).count == 2)
            #expect(try await registry.perform(.remove([download.id], deletingFiles: true)))
            #expect(try FileProbe.names(in: partials) == [])
            try await withManager(folder) { _ in }
            #expect(try !FileProbe.names(in: registry.directory).contains(RegistryPartials.fileName))
        }
    }

    /// Regression: only the record was removed, and the partial file stayed.
    @Test func `a process that was killed after it renamed a copy leaves no partial file`() async throws {
        try await withTemporaryDirectory { folder in
            let partials = folder.appending(path: "partials")
            let journal = folder.appending(path: "registry/\(RegistryStore.fileName)")
            let saved = Locked<[URL: Data]>([:])
            let recorder = FileSystemRecorder(
                to: .unsynced.divided(at: partials.path),
                withPaths: { call, path throws(SystemError) in
                    guard call == .remove, path.hasPrefix(partials.path), path.hasSuffix(".part") else { return }
                    for file in [URL(filePath: path), URL(filePath: path + RecordFile.suffix), journal] {
                        saved.withLock { $0[file] = try? Data(contentsOf: file) }
                    }
                }
            )
            try await withManager(
                folder,
                files: recorder.fileCalls,
                configure: { $0.partialsDirectory = partials }
            ) { manager in
                _ = try await manager.download(request("a", in: folder)).value
            }
            let state = saved.withLock { $0 }
            #expect(state.count == 3)
            for (file, bytes) in state { try bytes.write(to: file) }
            try await withManager(folder, configure: { $0.partialsDirectory = partials }) { manager in
                #expect(await kinds(manager) == [.finished])
            }
            #expect(try FileProbe.names(in: partials) == [])
        }
    }
}
