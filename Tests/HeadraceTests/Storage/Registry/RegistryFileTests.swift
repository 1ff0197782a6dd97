import Foundation
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The files of a registry on a real disk.
@Suite(.timeLimit(.minutes(4)))
struct RegistryFileTests {
    private typealias Fixture = RegistryFixture
    private typealias Call = FileSystemRecorder.Call

    private let entries = (1...3).map { Fixture.entry($0, label: Int64($0)) }

    private func journal(in folder: URL) -> URL { folder.appending(path: RegistryStore.fileName) }

    /// Opens the registry of a folder for the duration of the body.
    private func withList<Result>(
        _ folder: URL,
        syncs: Bool = true,
        calls: FileSystem = .unsynced,
        compaction: RegistryStore.Compaction = RegistryStore.Compaction(),
        _ body: (RegistryList, RegistryReport) throws -> Result
    ) throws -> Result {
        let (file, report) = try Fixture.open(folder, syncs: syncs, compaction: compaction, calls: calls)
        defer { file.close() }
        return try body(file, report)
    }

    private func image(_ folder: URL) throws -> RegistrySnapshot { try withList(folder) { file, _ in file.snapshot } }

    /// Regression: it was treated as empty and rewritten.
    @Test func `a registry whose read is short is left unchanged`() async throws {
        try await withTemporaryDirectory { folder in
            try withList(folder) { file, _ in try file.append([.added(entries)]) }
            let before = try FileProbe.bytes(of: journal(in: folder))
            var calls = FileSystem.unsynced
            calls.readAt = { _, _, _ throws(SystemError) in [] }
            #expect(throws: DownloadError.self) { try withList(folder, calls: calls) { _, _ in } }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
        }
    }

    @Test func `a closed registry is read back as it was`() async throws {
        try await withTemporaryDirectory { outer in
            let folder = outer.appending(path: "list", directoryHint: .isDirectory)
            let changes: [RegistryChange] = [
                .added(entries), .state(1, .running), .moved(2, label: 9), .removed([3]),
            ]
            let recorder = FileSystemRecorder(to: .unsynced)
            try withList(folder, calls: recorder.fileCalls) { file, report in
                #expect(report == RegistryReport())
                #expect(file.snapshot == RegistrySnapshot())
                for count in changes.indices {
                    try file.append([changes[count]])
                    #expect(file.snapshot == Fixture.image(changes[...count]))
                }
                let before = recorder.callsExceptStatus.count
                try file.append([])
                try file.append([.added([]), .removed([])])
                #expect(recorder.callsExceptStatus.count == before)
            }
            #expect(try FileProbe.names(in: folder) == ["registry.journal", "registry.lock"])
            #expect(try FileProbe.bytes(of: journal(in: folder)) == Fixture.journal(changes))
            try withList(folder) { file, report in
                #expect(report == RegistryReport())
                #expect(file.snapshot == Fixture.image(changes))
            }
        }
    }

    @Test func `S05 the files are readable only by their owner, even if the journal was not before`() async throws {
        try await withTemporaryDirectory { outer in
            let folder = outer.appending(path: "list")
            try withList(folder) { file, _ in try file.append([.added(entries)]) }
            #expect(FileProbe.permissions(of: folder) == 0o700)
            for name in try FileProbe.names(in: folder) {
                #expect(FileProbe.permissions(of: folder.appending(path: name)) == 0o600)
            }
            chmod(journal(in: folder).path, 0o644)
            #expect(try image(folder).entries.count == 3)
            #expect(FileProbe.permissions(of: journal(in: folder)) == 0o600)
        }
    }

    @Test func `a thousand downloads are one write and one sync`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            let many = (0..<1000).map { Fixture.entry($0, label: Int64($0)) }
            let calls = try withList(folder, calls: recorder.fileCalls) { file, _ in
                let before = recorder.callsExceptStatus.count
                try file.append([.added(many)])
                return Array(recorder.callsExceptStatus.dropFirst(before))
            }
            let size = Int64(try Fixture.journal([.added(many)]).count)
            let start = Int64(RegistryJournal.header.count)
            #expect(calls == [.write(offset: start, count: Int(size - start)), .sync])
            #expect(FileProbe.size(of: journal(in: folder)) == size)
            #expect(try image(folder).ordered == many)
        }
    }

    @Test func `without durability an append is one write and no sync`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            try withList(folder, syncs: false, calls: recorder.fileCalls) { file, _ in
                let before = recorder.callsExceptStatus.count
                try file.append([.added(entries)])
                #expect(recorder.callsExceptStatus.count == before + 1)
            }
        }
    }

    /// A process may be killed before it syncs them, and commands that others leave must survive a power cut.
    @Test func `even without durability, the directory entries of the folder and the journal are synced`() async throws
    {
        try await withTemporaryDirectory { folder in
            let folder = folder.appending(path: "new")
            for call in [Call.createDirectory, .open] {
                let recorder = FileSystemRecorder(to: .unsynced)
                try Fixture.open(folder, syncs: false, calls: recorder.fileCalls).list.close()
                let calls = recorder.calls
                let index = try #require(calls.lastIndex(of: call))
                #expect(calls[index + 1] == .syncDirectory)
            }
        }
    }

    @Test func `an unsynced change is one write, and the next sync covers it`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            let list = try Fixture.open(folder, calls: recorder.fileCalls).list
            func kinds(_ body: () throws -> Void) rethrows -> [Call] {
                let before = recorder.callsExceptStatus.count
                try body()
                return recorder.callsExceptStatus.dropFirst(before).map {
                    if case .write = $0 { .write(offset: 0, count: 0) } else { $0 }
                }
            }
            let write = Call.write(offset: 0, count: 0)
            #expect(try kinds { try list.append([.added(entries)], syncing: false) } == [write])
            #expect(try kinds { try list.append([.state(1, .paused)], syncing: false) } == [write])
            #expect(try kinds { try list.append([], syncing: false) } == [])
            #expect(try kinds { try list.append([.state(2, .paused)]) } == [write, .sync])
            #expect(try kinds { try list.append([]) } == [])
            #expect(try kinds { try list.append([.state(3, .paused)], syncing: false) } == [write])
            #expect(try kinds { try list.append([]) } == [.sync])
            #expect(try kinds { try list.append([.state(3, .running)], syncing: false) } == [write])
            #expect(kinds { list.close() }.starts(with: [.sync, .close]))
            #expect(try image(folder) == list.snapshot)
        }
    }

    @Test func `the registry reports when a rewrite is worthwhile and when it is required`() async throws {
        try await withTemporaryDirectory { folder in
            let isBroken = Locked(false)
            var calls = FileSystem.unsynced
            calls.sync = { _ throws(SystemError) in if isBroken.withLock({ $0 }) { throw SystemError(errno: EIO) } }
            let compaction = RegistryStore.Compaction(minBytes: 0, factor: 3)
            let file = try RegistryFile.open(folder.path, .init(syncs: true, compaction: compaction), calls: calls).file
            let changes: [RegistryChange] = [.state(1, .paused), .state(2, .paused)]
            #expect(try file.append([.added(entries)], live: 3) == .recorded)
            for _ in 0..<2 { #expect(try file.append(changes, live: 3) == .recorded) }
            #expect(try file.append([.removed([3])], live: 2) == .recordedAndDue)
            try file.replace(with: entries.prefix(2))
            isBroken.withLock { $0 = true }
            #expect(throws: DownloadError.self) { try file.append(changes, live: 2) }
            isBroken.withLock { $0 = false }
            let before = try FileProbe.bytes(of: journal(in: folder))
            #expect(try file.append(changes, live: 3) == .wholeListNeeded)
            #expect(try file.append(changes, syncing: false, live: 3) == .wholeListNeeded)
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
            try file.replace(with: entries)
            #expect(try file.append(changes, live: 3) == .recorded)
            file.close()
            #expect(try image(folder) == Fixture.image([.added(entries)] + changes))
        }
    }

    // MARK: The lock

    @Test func `K27 a second manager is rejected with the owner until the first is closed`() async throws {
        try await withTemporaryDirectory { folder in
            let first = try Fixture.open(folder).list
            try first.append([.added(entries)])
            for _ in 0..<3 {
                let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
                #expect(error?.code == .busy)
                #expect(error?.cause as? RegistryOwner == RegistryOwner(processID: getpid()))
                #expect(error?.message.contains("in use by another manager of this process") == true)
            }
            try first.append([.state(1, .paused)])
            // Of constant size, so that the next owner's process ID fits even on a full disk.
            let lock = folder.appending(path: RegistryLock.fileName)
            let size = try FileProbe.bytes(of: lock).count
            first.close()
            first.close()
            #expect(try FileProbe.bytes(of: lock).count == size)
            #expect(try image(folder)[1]?.state == .paused)
            #expect(throws: DownloadError.shutDown()) { try first.append([.state(1, .running)]) }
        }
    }

    @Test func `a released registry can be opened again`() async throws {
        try await withTemporaryDirectory { folder in
            _ = try Fixture.open(folder)
            #expect(try image(folder) == RegistrySnapshot())
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/flock")))
    func `K27 a process that holds the registry is named, and kill -9 releases it`() async throws {
        try await withTemporaryDirectory { folder in
            try withList(folder) { file, _ in try file.append([.added(entries)]) }
            let output = folder.appending(path: "output")
            var holder = try ChildProcess(
                [
                    "/bin/sh", "-c", #"exec 9<>"$0"; /usr/bin/flock 9; echo $$ >&9; echo; exec sleep 60"#,
                    folder.appending(path: RegistryLock.fileName).path,
                ],
                environment: ["PATH=/usr/bin:/bin"],
                streams: ["/dev/null", output.path]
            )
            while holder.poll() == nil, try Data(contentsOf: output).isEmpty {
                try await Task.sleep(for: .milliseconds(3))
            }
            #expect(try Data(contentsOf: output).count == 1)
            let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
            #expect(error?.code == .busy)
            #expect(error?.cause as? RegistryOwner == RegistryOwner(processID: holder.id))
            #expect(error?.message.contains("in use by process \(holder.id).") == true)
            holder.send(SIGKILL)
            #expect(try await holder.waitForEnd() == .signal(SIGKILL))
            #expect(try image(folder).entries.count == 3)
        }
    }

    @Test func `a lock whose holder is unknown is refused all the same`() async throws {
        try await withTemporaryDirectory { folder in
            let lock = folder.appending(path: RegistryLock.fileName)
            for text in ["", "12", "x\n", "99999999999\n"] {
                try Data(text.utf8).write(to: lock)
                let file = open(lock.path, O_RDWR | O_CLOEXEC)
                #expect(flock(file, LOCK_EX | LOCK_NB) == 0)
                let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
                #expect(error?.cause as? RegistryOwner == RegistryOwner(processID: nil))
                close(file)
            }
        }
    }

    #if os(Linux)
    /// Regression: a process whose descriptors may not be read counted as the owner of any registry.
    ///
    /// A killed owner leaves its ID in the lock file, and the system may give that ID to such a process.
    @Test(arguments: [false, true])
    func `if the descriptors of a process cannot be read, the lock says whether it owns the registry`(
        _ isLocked: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            let lock = folder.appending(path: RegistryLock.fileName).path
            try Data("\(getpid())\n".utf8).write(to: URL(filePath: lock))
            let file = try FileSystem.system.open(lock)
            if isLocked { #expect(try FileSystem.system.lock(file)) }
            #expect(SystemFileCalls.isOpen(lock, by: getpid()))
            // Neither has a directory for the process; a superuser could read a directory whatever its permissions.
            for processes in [folder.path, lock] {
                #expect(SystemFileCalls.isOpen(lock, by: getpid(), in: processes) == isLocked)
            }
            let descriptors = "\(folder.path)/\(getpid())/fd"
            try FileManager.default.createDirectory(atPath: descriptors, withIntermediateDirectories: true)
            #expect(chmod(descriptors, 0) == 0)
            let isRefused = access(descriptors, R_OK) != 0
            #expect(SystemFileCalls.isOpen(lock, by: getpid(), in: folder.path) == (isRefused && isLocked))
            // So that the directory can be removed.
            #expect(chmod(descriptors, 0o700) == 0)
            try FileSystem.system.close(file)
        }
    }
    #endif

    @Test func `S03 links, directories and pipes in place of the registry files are rejected`() async throws {
        try await withTemporaryDirectory { outer in
            let target = outer.appending(path: "target")
            for name in [RegistryStore.fileName, RegistryLock.fileName] {
                for kind in ["link", "directory", "pipe"] {
                    try Data("kept".utf8).write(to: target)
                    let folder = outer.appending(path: "\(name)-\(kind)")
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                    let path = folder.appending(path: name).path
                    switch kind {
                    case "link": #expect(symlink(target.path, path) == 0)
                    case "directory": #expect(mkdir(path, 0o700) == 0)
                    default: #expect(mkfifo(path, 0o600) == 0)
                    }
                    let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
                    #expect(error?.code == .fileSystem)
                    #expect(error?.message.contains(path) == true && error?.message.contains("Remove it") == true)
                    #expect(try FileProbe.bytes(of: target) == Array("kept".utf8))
                }
            }
        }
    }

    // MARK: Compaction

    @Test func `a mostly dead journal is rewritten in one step`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            let compaction = RegistryStore.Compaction(minBytes: 2000, factor: 4)
            try withList(folder, calls: recorder.fileCalls, compaction: compaction) { file, _ in
                try file.append([.added(entries)])
                var largest: Int64 = 0
                for round in 0..<200 {
                    try file.append([.state(UInt64(round % 3) + 1, round % 2 == 0 ? .running : .paused)])
                    largest = max(largest, FileProbe.size(of: journal(in: folder)) ?? 0)
                }
                #expect(largest > 1900 && largest < 2000)
                let order = recorder.calls.filter { [.create, .sync, .replace, .syncDirectory].contains($0) }
                let expected: [Call] = [.sync, .create, .sync, .replace, .syncDirectory, .sync]
                #expect(order.indices.contains { order[$0...].starts(with: expected) })
                try file.compact()
                #expect(
                    try FileProbe.bytes(of: journal(in: folder)) == Fixture.journal([.added(file.snapshot.ordered)])
                )
            }
            #expect(try FileProbe.names(in: folder) == ["registry.journal", "registry.lock"])
            #expect(try image(folder).ordered.map(\.id) == [1, 2, 3])
        }
    }

    @Test func `a mostly dead journal is rewritten when it is opened`() async throws {
        try await withTemporaryDirectory { folder in
            try withList(folder) { file, _ in
                try file.append([.added(entries)] + (0..<100).map { .moved(1, label: $0) })
            }
            let compaction = RegistryStore.Compaction(minBytes: 2000, factor: 4)
            let image = try withList(folder, compaction: compaction) { file, _ in file.snapshot }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == Fixture.journal([.added(image.ordered)]))
            #expect(image[1]?.label == 99)
        }
    }

    @Test func `downloads that are recorded again count as replaced records`() async throws {
        try await withTemporaryDirectory { folder in
            let compaction = RegistryStore.Compaction(minBytes: 0, factor: 3)
            let options = RegistryFile.Options(syncs: false, compaction: compaction)
            let file = try RegistryFile.open(folder.path, options, calls: .unsynced).file
            let outcomes = try (0..<3).map { _ in try file.append([.added([Fixture.entry(1)])], live: 1) }
            #expect(outcomes == [.recorded, .recorded, .recordedAndDue])
        }
    }

    @Test func `a failed compaction loses nothing and is not retried at each change`() async throws {
        try await withTemporaryDirectory { folder in
            let creations = Locked(0)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                guard call == .create else { return }
                let count = creations.withLock { count in
                    count += 1
                    return count
                }
                // Only the lock and the first journal can be created.
                if count > 2 { throw SystemError(errno: ENOSPC) }
            }
            let compaction = RegistryStore.Compaction(minBytes: 0, factor: 2)
            let states = try withList(folder, calls: recorder.fileCalls, compaction: compaction) { file, _ in
                try file.append([.added(entries)])
                for round in 0..<150 { try file.append([.moved(1, label: Int64(round))]) }
                return file.snapshot
            }
            #expect(creations.withLock { $0 } < 10)
            #expect(try image(folder) == states)
            #expect(states[1]?.label == 149)
        }
    }

    @Test func `labels that do not fit in one line are written with a rewrite`() async throws {
        try await withTemporaryDirectory { folder in
            let many = (0..<100).map { Fixture.entry($0, label: Int64($0)) }
            let labels = Dictionary(uniqueKeysWithValues: (0..<30_000).map { (UInt64($0), Int64.max - Int64($0)) })
            let recorder = FileSystemRecorder(to: .unsynced)
            try withList(folder, calls: recorder.fileCalls) { file, _ in
                try file.append([.added(many)])
                let before = recorder.calls.count { $0 == .replace }
                try file.append([.relabelled(labels), .state(0, .paused)])
                #expect(recorder.calls.count { $0 == .replace } == before + 1)
                #expect(file.snapshot.ordered.map(\.id) == many.map(\.id).reversed())
            }
            #expect(try image(folder).ordered.map(\.id) == many.map(\.id).reversed())
            #expect(try image(folder)[0]?.state == .paused)
        }
    }

    // MARK: Damage

    @Test func `K18 a damaged journal is copied before it is rewritten and reported once`() async throws {
        try await withTemporaryDirectory { folder in
            try withList(folder) { file, _ in for entry in entries { try file.append([.added([entry])]) } }
            var bytes = try FileProbe.bytes(of: journal(in: folder))
            let place = try #require(bytes.firstRange(of: Array("file-2".utf8)))
            bytes[place.lowerBound] = 0
            try Data(bytes).write(to: journal(in: folder))
            let copy = folder.appending(path: "registry.journal.unread")
            try withList(folder) { file, report in
                #expect(report.unreadCopy == copy.path)
                #expect(report.findings.list.map(\.description).first?.hasPrefix("Line 5 is damaged") == true)
                #expect(file.snapshot.ordered.map(\.id) == [1, 3])
            }
            #expect(try FileProbe.bytes(of: copy) == bytes)
            #expect(FileProbe.permissions(of: copy) == 0o600)
            try withList(folder) { file, report in
                #expect(report == RegistryReport())
                #expect(file.snapshot.ordered.map(\.id) == [1, 3])
            }
        }
    }

    @Test func `a damaged journal that cannot be copied is left unchanged and appended to`() async throws {
        try await withTemporaryDirectory { folder in
            let damaged = try Fixture.journal([.added([entries[0]])]) + Array("rotten\n".utf8)
            try Data(damaged).write(to: journal(in: folder))
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == .sync { throw SystemError(errno: ENOSPC) }
            }
            try withList(folder, syncs: false, calls: recorder.fileCalls) { file, report in
                #expect(report.unreadCopy == nil && report.findings.hasLoss)
                #expect(try FileProbe.names(in: folder) == ["registry.journal", "registry.lock"])
                try file.append([.added([entries[1]])])
            }
            let line = try RegistryEncoder.lines(of: [.added([entries[1]])])
            #expect(try FileProbe.bytes(of: journal(in: folder)) == damaged + line)
            #expect(try image(folder).ordered.map(\.id) == [1, 2])
        }
    }

    @Test func `a torn last line is removed before the next change`() async throws {
        try await withTemporaryDirectory { folder in
            let good = try Fixture.journal([.added([entries[0]])])
            for torn in ["\n00000000 [\"add\"", "\n", "x", String(repeating: "\u{0}", count: 4000)] {
                try Data(good + Array(torn.utf8)).write(to: journal(in: folder))
                try withList(folder) { file, report in
                    #expect(!report.findings.hasLoss && report.unreadCopy == nil)
                    try file.append([.added([entries[1]])])
                }
                let line = try RegistryEncoder.lines(of: [.added([entries[1]])])
                let kept = good + (torn.hasPrefix("\n") ? [RegistryJournal.newline] : [])
                #expect(try FileProbe.bytes(of: journal(in: folder)) == kept + line)
            }
        }
    }

    @Test func `K20 a registry of a later release is rejected and left unchanged`() async throws {
        try await withTemporaryDirectory { folder in
            let bytes = RegistryJournal.header(of: 2) + Array("what comes then".utf8)
            try Data(bytes).write(to: journal(in: folder))
            for _ in 0..<2 {
                let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
                #expect(error?.code == .fileSystem)
                #expect(error?.message.contains("a later release (version 2)") == true)
                #expect(try FileProbe.bytes(of: journal(in: folder)) == bytes)
                #expect(try FileProbe.names(in: folder) == ["registry.journal", "registry.lock"])
            }
        }
    }

    @Test func `an empty file is a registry without downloads`() async throws {
        try await withTemporaryDirectory { folder in
            try Data().write(to: journal(in: folder))
            try withList(folder) { file, report in
                #expect(report == RegistryReport())
                try file.append([.added(entries)])
            }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == Fixture.journal([.added(entries)]))
        }
    }
}
