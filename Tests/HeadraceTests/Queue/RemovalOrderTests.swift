import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The journal drops a download before its files are deleted.
@Suite(.timeLimit(.minutes(4)))
struct RemovalOrderTests {
    enum Verb: Sendable, CaseIterable {
        case cancel
        case remove

        func run(on download: Download) async {
            switch self {
            case .cancel: await download.cancel()
            case .remove: await download.remove(deletingFile: true)
            }
        }
    }

    enum Subject: Sendable, CaseIterable {
        case paused
        case running
        case finished
    }

    private let lists = RegistryTests()

    private func download(_ subject: Subject, _ manager: DownloadManager, in folder: URL) async throws -> Download {
        let name = subject == .finished ? "a" : "silent"
        let download = try await manager.download(lists.request(name, in: folder))
        if subject == .finished {
            _ = try await download.value
        } else {
            for await progress in download.progress where progress.bytesReceived == 60_000 { break }
        }
        if subject == .paused { await download.pause() }
        return download
    }

    @Test(arguments: [true, false], [true, false])
    func `a file that already existed, skipped or verified, is not deleted, even in a later run`(
        _ isReopened: Bool,
        _ isVerified: Bool
    ) async throws {
        let sha256 = try Checksum(parsing: "sha256:3fd30542fe3f61b14bd4a4b2dc0b6fb30fa6f63ebce52dd1778aaa8c4dc02cff")
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "a")
            try Data("mine".utf8).write(to: file)
            try await lists.withManager(folder) { manager in
                let request = try lists.request("a", in: folder) {
                    if isVerified {
                        ($0.checksums, $0.refetchPolicy) = ([sha256], .ifChanged)
                    } else {
                        $0.conflictPolicy = .skip
                    }
                }
                let download = try await manager.download(request)
                #expect(try await download.value.filePath == file.filePath)
                if !isReopened { await download.remove(deletingFile: true) }
            }
            try await lists.withManager(folder) { manager in
                #expect(await manager.downloads.count == (isReopened ? 1 : 0))
                for download in await manager.downloads {
                    #expect(await download.fileIsIntact)
                    await download.remove(deletingFile: true)
                }
            }
            #expect(try FileProbe.bytes(of: file) == Array("mine".utf8))
        }
    }

    @Test func `a file that was unchanged on restart still belongs to the download`() async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let request = try lists.request("a", in: folder) { $0.refetchPolicy = .ifChanged }
                let download = try await manager.download(request)
                let file = try await download.value
                await download.restart()
                #expect(try await download.value == file)
                #expect(await download.events.reduce(false) { $0 || $1 == .unchanged(file) })
                await download.remove(deletingFile: true)
                #expect(FileProbe.size(of: file) == nil)
            }
        }
    }

    /// Regression: removing the download also deleted the file that had replaced its own.
    @Test func `a file that replaced the downloaded one is not deleted`() async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let first = try await manager.download(lists.request("a", in: folder))
                let checksum = try await Checksum.compute(.sha256, ofFileAt: first.value)
                await first.remove(deletingFile: true)
                let request = try lists.request("a", in: folder) {
                    ($0.checksums, $0.refetchPolicy) = ([checksum], .unlessCurrent)
                }
                let download = try await manager.download(request)
                let file = try await download.value
                let bytes = try FileProbe.bytes(of: file)
                try Data(bytes).write(to: file, options: .atomic)
                await download.restart()
                #expect(try await download.value == file)
                #expect(await download.events.reduce(false) { $0 || $1 == .unchanged(file) })
                await download.remove(deletingFile: true)
                #expect(try FileProbe.bytes(of: file) == bytes)
            }
        }
    }

    @Test(arguments: Subject.allCases, Verb.allCases)
    func `X01 X02 a crash after any change never loses the bytes of a download in the queue`(
        _ subject: Subject,
        _ verb: Verb
    ) async throws {
        let folder = URL(filePath: "/list", directoryHint: .isDirectory)
        let disk = MemoryDisk()
        var (begun, path) = (0, "")
        try await lists.withManager(folder, files: disk.calls) { manager in
            let download = try await download(subject, manager, in: folder)
            path = subject == .finished ? "/list/a" : download.partialFile.filePath
            begun = disk.changes.count
            await verb.run(on: download)
            #expect((disk.image.names[path] != nil) == (subject == .finished && verb == .cancel))
        }
        // The bytes of a running download are not synced yet, so they survive only a kill.
        for crash in Crash.allCases where subject != .running || crash == .kill {
            for count in begun...disk.changes.count {
                let image = crash.image(after: disk.changes.prefix(count), seed: UInt64(count))
                guard image.names[path] == nil else { continue }
                let list = try RegistryFixture.open("/list/registry", calls: MemoryDisk(image).calls).list.snapshot
                let isWanted = list.entries.contains { $0.state != .cancelled }
                #expect(!isWanted, "\(crash), after \(count) changes")
            }
        }
    }

    @Test(arguments: [Subject.paused, .running], Verb.allCases)
    func `if the disk is full, the files of unwanted downloads make room for the journal`(
        _ subject: Subject,
        _ verb: Verb
    ) async throws {
        try await withTemporaryDirectory { folder in
            let file = Locked<URL?>(nil)
            let recorder = FileSystemRecorder(fullWhile: {
                file.withLock { $0.flatMap { FileProbe.size(of: $0) } } != nil
            })
            try await lists.withManager(folder, files: recorder.fileCalls) { manager in
                let download = try await download(subject, manager, in: folder)
                let partial = download.partialFile
                file.withLock { $0 = partial }
                await verb.run(on: download)
                #expect(FileProbe.size(of: download.partialFile) == nil)
                let list = try await lists.registry(folder).downloads()
                #expect(list.map(\.state) == (verb == .cancel ? [.cancelled] : []))
            }
        }
    }

    @Test func `once one file has made room for the journal, the files on other disks are deleted too`() async throws {
        try await withTemporaryDirectory { folder in
            let file = Locked<URL?>(nil)
            var files = FileSystemRecorder(fullWhile: {
                file.withLock { $0.flatMap { FileProbe.size(of: $0) } } != nil
            }).fileCalls
            let status = files.status
            files.status = { path throws(SystemError) in
                var status = try status(path)
                if path.hasSuffix("/b") { status?.device = 0 }
                return status
            }
            let calls = files
            try await lists.withManager(folder, files: calls) { manager in
                var finished: [URL] = []
                for download in try await manager.download(["a", "b"].map { try lists.request($0, in: folder) }) {
                    finished.append(try await download.value)
                }
                let first = finished[0]
                file.withLock { $0 = first }
                try await manager.remove(.all, deletingFiles: true)
                #expect(try FileProbe.names(in: folder) == ["registry"])
                #expect(try await lists.registry(folder).downloads().isEmpty)
            }
        }
    }

    @Test(arguments: [EIO, ENOSPC], Verb.allCases)
    func `files are not deleted while the journal cannot be written, nor to free another disk`(
        _ errno: Int32,
        _ verb: Verb
    ) async throws {
        try await withTemporaryDirectory { folder in
            let isBroken = Locked(false)
            var files = FileSystemRecorder { call throws(SystemError) in
                guard isBroken.withLock({ $0 }) else { return }
                switch call {
                case .write, .create: throw SystemError(errno: errno)
                default: break
                }
            }.fileCalls
            let status = files.status
            files.status = { path throws(SystemError) in
                var status = try status(path)
                if path.hasSuffix(RegistryStore.fileName) { status?.device = 0 }
                return status
            }
            let calls = files
            try await lists.withManager(folder, files: calls) { manager in
                let download = try await download(.paused, manager, in: folder)
                let events = manager.events
                isBroken.withLock { $0 = true }
                await verb.run(on: download)
                #expect(FileProbe.size(of: download.partialFile) == 60_000)
                for await event in events { if case .registryFailed = event { break } }
                isBroken.withLock { $0 = false }
            }
            try await lists.withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                #expect(await lists.kinds(manager) == (verb == .cancel ? [.cancelled] : []))
            }
        }
    }

    @Test func `removing a finished download deletes its file, but not another queue's partial file`()
        async throws
    {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let download = try await download(.finished, manager, in: folder)
                let file = try await download.value
                try Data("theirs".utf8).write(to: download.partialFile)
                await download.remove(deletingFile: true)
                #expect(FileProbe.size(of: download.partialFile) == 6)
                #expect(FileProbe.size(of: file) == nil)
            }
        }
    }

    @Test func `a download cancelled just before the shutdown leaves no files`() async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let download = try await download(.running, manager, in: folder)
                _ = try await manager.stop(.all, .cancel)
                await manager.shutdown()
                #expect(download.state == .cancelled)
                #expect(try FileProbe.names(in: folder) == ["registry"])
            }
            try await lists.withManager(folder) { manager in
                #expect(await lists.kinds(manager) == [.cancelled])
            }
        }
    }

    @Test(arguments: [false, true])
    func `a download cancelled and removed before it has stopped leaves no files`(
        _ deletesFirst: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let download = try await download(.running, manager, in: folder)
                await manager.apply { [id = download.id] queue in
                    let first =
                        deletesFirst ? queue.scheduler.remove(id, deletingFile: true) : queue.scheduler.cancel(id)
                    return queue.effects(of: first + queue.scheduler.remove(id, deletingFile: false))
                }
                await manager.shutdown()
                #expect(download.state == .cancelled)
                #expect(try FileProbe.names(in: folder) == ["registry"])
            }
        }
    }

    /// After the shutdown, another manager may own the registry and the file.
    @Test func `a cancellation after the shutdown touches no files`() async throws {
        try await withTemporaryDirectory { folder in
            try await lists.withManager(folder) { manager in
                let download = try await download(.paused, manager, in: folder)
                await manager.shutdown()
                await download.cancel()
                #expect(download.state.kind == .failed)
                #expect(FileProbe.size(of: download.partialFile) == 60_000)
            }
        }
    }
}
