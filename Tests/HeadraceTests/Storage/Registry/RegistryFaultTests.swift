import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Disks that refuse writes: the registry keeps its state and stays readable.
@Suite(.timeLimit(.minutes(4)))
struct RegistryFaultTests {
    private typealias Fixture = RegistryFixture
    typealias Call = FileSystemRecorder.Call

    private let codes: [(errno: Int32, code: DownloadError.Code)] = [
        (ENOSPC, .diskFull), (EDQUOT, .diskFull), (EROFS, .permission), (EACCES, .permission), (EIO, .fileSystem),
    ]

    /// Makes calls of one kind fail while it is armed.
    private final class Fault: Sendable {
        private let armed = Locked<(call: @Sendable (Call) -> Bool, errno: Int32)?>(nil)

        func arm(_ errno: Int32, _ call: @escaping @Sendable (Call) -> Bool) {
            armed.withLock { $0 = (call, errno) }
        }

        func disarm() { armed.withLock { $0 = nil } }

        var recorder: FileSystemRecorder {
            FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                let armed = self.armed.withLock { $0 }
                if let armed, armed.call(call) { throw SystemError(errno: armed.errno) }
            }
        }
    }

    private func journal(in folder: URL) -> URL { folder.appending(path: RegistryStore.fileName) }

    /// `nil` if the registry can be opened.
    private func failure(toOpen folder: URL, _ calls: FileSystem) -> DownloadError? {
        do throws(DownloadError) {
            try Fixture.open(folder, calls: calls).list.close()
            return nil
        } catch {
            return error
        }
    }

    private func read(_ folder: URL) throws -> RegistrySnapshot {
        let file = try Fixture.open(folder).list
        defer { file.close() }
        return file.snapshot
    }

    @Test func `K01 a change that the disk refuses is reported and not recorded`() async throws {
        for (errno, code) in codes {
            try await withTemporaryDirectory { folder in
                let fault = Fault()
                let file = try Fixture.open(folder, calls: fault.recorder.fileCalls).list
                try file.append([.added([Fixture.entry(1)])])
                let before = try FileProbe.bytes(of: journal(in: folder))
                fault.arm(errno) { if case .write = $0 { true } else { false } }
                let error = #expect(throws: DownloadError.self) { try file.append([.added([Fixture.entry(2)])]) }
                #expect(error?.code == code)
                #expect(error?.message.contains("\(folder.path)/registry.journal") == true)
                #expect(file.snapshot.entries.map(\.id).sorted() == [1])
                #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
                fault.disarm()
                try file.append([.added([Fixture.entry(3)])])
                file.close()
                #expect(try read(folder).entries.map(\.id).sorted() == [1, 3])
            }
        }
    }

    @Test func `K01 if a later write fails, none of the changes is recorded`() async throws {
        try await withTemporaryDirectory { folder in
            let fault = Fault()
            let file = try Fixture.open(folder, calls: fault.recorder.fileCalls).list
            defer { file.close() }
            try file.append([.added([Fixture.entry(1)])])
            let before = try FileProbe.bytes(of: journal(in: folder))
            let many: [RegistryChange] = (2..<2000).map { .added([Fixture.entry($0)]) }
            fault.arm(ENOSPC) { if case .write(let offset, _) = $0 { offset > before.count } else { false } }
            #expect(throws: DownloadError.self) { try file.append(many) }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
            fault.disarm()
            var tooLong = Fixture.entry(2000)
            tooLong.request.title = String(repeating: "t", count: RegistryJournal.maxEntryBytes)
            #expect(throws: DownloadError.self) { try file.append(many + [.added([tooLong])]) }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
            try file.append(many)
            #expect(try FileProbe.bytes(of: journal(in: folder)).count > before.count + 2 * RegistryEncoder.pieceBytes)
        }
    }

    /// A disk may write the first bytes before it reports that it is full.
    @Test func `K01 a partly written change is removed when the disk is full`() async throws {
        try await withTemporaryDirectory { folder in
            let isFull = Locked(false)
            let isStuck = Locked(false)
            var calls = FileSystem.unsynced
            calls.write = { file, bytes, offset throws(SystemError) in
                guard isFull.withLock({ $0 }) else { return try FileSystem.system.write(file, bytes, offset) }
                guard bytes.count > 500 else { throw SystemError(errno: ENOSPC) }
                return try FileSystem.system.write(file, UnsafeRawBufferPointer(rebasing: bytes.prefix(500)), offset)
            }
            calls.truncate = { file, size throws(SystemError) in
                if isStuck.withLock({ $0 }) { throw SystemError(errno: EIO) }
                try FileSystem.system.truncate(file, size)
            }
            let file = try Fixture.open(folder, calls: calls).list
            try file.append([.added([Fixture.entry(1)])])
            let before = try FileProbe.bytes(of: journal(in: folder))
            let many: [RegistryChange] = (2..<9).map { .added([Fixture.entry($0)]) }
            isFull.withLock { $0 = true }
            #expect(throws: DownloadError.self) { try file.append(many) }
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before)
            // If they cannot be removed, nothing is appended after them.
            isStuck.withLock { $0 = true }
            #expect(throws: DownloadError.self) { try file.append(many) }
            isFull.withLock { $0 = false }
            #expect(throws: DownloadError.self) { try file.append([.state(1, .paused)]) }
            isStuck.withLock { $0 = false }
            try file.append([.state(1, .paused)])
            let line = try RegistryEncoder.lines(of: [.state(1, .paused)])
            #expect(try FileProbe.bytes(of: journal(in: folder)) == before + line)
            file.close()
        }
    }

    @Test func `K06 a failed sync is not retried, and the registry is written to a new file`() async throws {
        try await withTemporaryDirectory { folder in
            let fault = Fault()
            let recorder = fault.recorder
            let file = try Fixture.open(folder, calls: recorder.fileCalls).list
            try file.append([.added([Fixture.entry(1)])])
            fault.arm(EIO) { $0 == .sync }
            let error = #expect(throws: DownloadError.self) { try file.append([.added([Fixture.entry(2)])]) }
            #expect(error?.code == .fileSystem)
            #expect(file.snapshot.entries.map(\.id).sorted() == [1])
            fault.disarm()
            let before = recorder.callsExceptStatus.count
            try file.append([.added([Fixture.entry(3)])])
            let kinds = recorder.callsExceptStatus.dropFirst(before).filter {
                if case .write = $0 { false } else { true }
            }
            #expect(kinds == [.remove, .create, .sync, .replace, .close, .syncDirectory])
            try file.append([.state(3, .paused)])
            #expect(recorder.calls.suffix(1) == [.sync])
            file.close()
            #expect(try read(folder).ordered == [Fixture.entry(1), Fixture.entry(3, .paused)])
        }
    }

    @Test(arguments: [Call.create, .sync, .replace, .syncDirectory])
    func `a new file that fails at any step leaves a usable registry`(_ step: Call) async throws {
        try await withTemporaryDirectory { folder in
            let fault = Fault()
            let file = try Fixture.open(folder, calls: fault.recorder.fileCalls).list
            try file.append([.added([Fixture.entry(1)]), .state(1, .paused)])
            fault.arm(EIO) { $0 == step }
            for _ in 0..<3 { #expect(throws: DownloadError.self) { try file.compact() } }
            #expect(FileProbe.size(of: folder.appending(path: "registry.journal.new")) == nil)
            fault.disarm()
            try file.append([.added([Fixture.entry(2)])])
            file.close()
            #expect(try read(folder).ordered == [Fixture.entry(1, .paused), Fixture.entry(2)])
        }
    }

    /// Regression: only the start made the copy, so that the first rewrite after a full disk lost the unreadable part.
    @Test func `a damaged journal is not replaced before it could be copied`() async throws {
        try await withTemporaryDirectory { folder in
            let damaged = try Fixture.journal([.added([Fixture.entry(1)])]) + Array("rotten\n".utf8)
            try Data(damaged).write(to: journal(in: folder))
            let copy = folder.appending(path: RegistryStore.fileName + RegistryStore.unreadSuffix)
            let isFull = Locked(true)
            var calls = FileSystem.unsynced
            calls.create = { path throws(SystemError) in
                if path == copy.path, isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
                return try FileSystem.unsynced.create(path)
            }
            let (list, report) = try Fixture.open(folder, calls: calls)
            #expect(report.unreadCopy == nil && report.findings.hasLoss)
            let error = #expect(throws: DownloadError.self) { try list.compact() }
            #expect(error?.code == .diskFull)
            #expect(try FileProbe.bytes(of: journal(in: folder)) == damaged)
            isFull.withLock { $0 = false }
            try list.compact()
            #expect(try FileProbe.bytes(of: copy) == damaged)
            try list.compact()
            list.close()
            #expect(try FileProbe.bytes(of: copy) == damaged)
            #expect(try read(folder).ordered == [Fixture.entry(1)])
        }
    }

    @Test func `a registry that cannot be created is rejected with the reason and can be created later`() async throws {
        for (errno, code) in codes {
            for step in [Call.createDirectory, .create, .open, .lock, .sync, .replace, .syncDirectory] {
                try await withTemporaryDirectory { outer in
                    let folder = outer.appending(path: "list")
                    let fault = Fault()
                    fault.arm(errno) { $0 == step }
                    let calls = fault.recorder.fileCalls
                    let error = failure(toOpen: folder, calls)
                    #expect(error?.code == (step == .open ? nil : code), "\(step)")
                    #expect(error?.message.contains(outer.path) != false)
                    let image = try read(folder)
                    #expect(image == RegistrySnapshot())
                }
            }
        }
    }

    @Test func `a registry that cannot be read is rejected with the reason and left unchanged`() async throws {
        try await withTemporaryDirectory { folder in
            var file = try Fixture.open(folder).list
            try file.append([.added([Fixture.entry(1)])])
            file.close()
            let bytes = try FileProbe.bytes(of: journal(in: folder))
            for (errno, code) in codes {
                let fault = Fault()
                fault.arm(errno) { call in
                    if case .readAt = call { true } else { false }
                }
                let error = #expect(throws: DownloadError.self) {
                    try Fixture.open(folder, calls: fault.recorder.fileCalls)
                }
                #expect(error?.code == code)
                #expect(try FileProbe.bytes(of: journal(in: folder)) == bytes)
            }
            // The lock is free again.
            file = try Fixture.open(folder).list
            #expect(file.snapshot.entries.count == 1)
            file.close()
        }
    }

    @Test func `a directory without a parent directory is rejected, and nothing is created`() async throws {
        try await withTemporaryDirectory { outer in
            let folder = outer.appending(path: "a/b")
            let error = #expect(throws: DownloadError.self) { try Fixture.open(folder) }
            #expect(error?.message.contains(folder.path) == true)
            let names = try FileProbe.names(in: outer)
            #expect(names == [])
        }
    }

    @Test func `a download that is too large is rejected, and nothing is written`() async throws {
        try await withTemporaryDirectory { folder in
            let file = try Fixture.open(folder).list
            var entry = Fixture.entry(2)
            entry.request.title = String(repeating: "t", count: RegistryJournal.maxEntryBytes)
            let error = #expect(throws: DownloadError.self) { try file.append([.added([Fixture.entry(1), entry])]) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("0000000000000002 takes more than the 512 KiB") == true)
            #expect(file.snapshot == RegistrySnapshot())
            #expect(try FileProbe.bytes(of: journal(in: folder)) == RegistryJournal.header)
            file.close()
        }
    }

    @Test func `K08 no descriptor leaks, however opening fails`() async throws {
        try await withTemporaryDirectory { folder in
            let open = Locked(0)
            let fault = Fault()
            var calls = fault.recorder.fileCalls
            let inner = calls
            calls.create = { path throws(SystemError) in
                let file = try inner.create(path)
                open.withLock { $0 += 1 }
                return file
            }
            calls.open = { path throws(SystemError) in
                let file = try inner.open(path)
                open.withLock { $0 += 1 }
                return file
            }
            calls.close = { file throws(SystemError) in
                try inner.close(file)
                open.withLock { $0 -= 1 }
            }
            let steps: [Call] = [
                .create, .open, .lock, .status, .openStatus, .sync, .replace, .syncDirectory, .setMode(0o600),
            ]
            for damage in [false, true] {
                for step in steps {
                    try? FileManager.default.removeItem(at: journal(in: folder))
                    if damage { try Data("rotten\n".utf8).write(to: journal(in: folder)) }
                    fault.arm(EIO) { $0 == step }
                    if let file = try? Fixture.open(folder, calls: calls).list { file.close() }
                    #expect(open.withLock { $0 } == 0, "\(step)")
                    fault.disarm()
                }
            }
        }
    }
}
