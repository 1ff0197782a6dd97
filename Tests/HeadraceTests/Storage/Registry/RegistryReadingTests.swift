import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Reading a registry from another process.
@Suite(.timeLimit(.minutes(4)))
struct RegistryReadingTests {
    private typealias Fixture = RegistryFixture

    @Test func `a registry can be read while its manager holds it, without writing`() async throws {
        try await withTemporaryDirectory { folder in
            let list = try Fixture.open(folder).list
            try list.append([.added([Fixture.entry(1), Fixture.entry(2)])])
            try list.append([.state(1, .paused)], syncing: false)
            let before = try FileProbe.bytes(of: folder.appending(path: RegistryStore.fileName))
            let recorder = FileSystemRecorder()
            let (image, findings) = try RegistryFile.read(folder.path, calls: recorder.fileCalls)
            #expect(image == list.snapshot)
            #expect(findings == RegistryDiagnostics())
            #expect(recorder.calls == [.status, .read])
            #expect(try FileProbe.bytes(of: folder.appending(path: RegistryStore.fileName)) == before)
            try list.append([.removed([1])])
            list.close()
            #expect(try RegistryFile.read(folder.path).snapshot == list.snapshot)
        }
    }

    @Test func `a line that is being written is ignored and stays`() async throws {
        try await withTemporaryDirectory { folder in
            let torn = try Fixture.journal([.added([Fixture.entry(1)]), .state(1, .paused)]).dropLast(5)
            let journal = folder.appending(path: RegistryStore.fileName)
            try Data(torn).write(to: journal)
            let (image, findings) = try RegistryFile.read(folder.path)
            #expect(image == Fixture.image([.added([Fixture.entry(1)])]))
            #expect(!findings.hasLoss && findings.list.count == 1)
            #expect(try FileProbe.bytes(of: journal) == Array(torn))
        }
    }

    /// Between the status call and the read, the file grows a lot or is replaced.
    @Test func `a registry that grows or is replaced while it is read is read completely`() async throws {
        try await withTemporaryDirectory { folder in
            let file = try RegistryFile.open(folder.path, .init(syncs: true), calls: .unsynced).file
            let entries = (0..<2000).map { Fixture.entry($0) }
            for grows in [true, false] {
                var calls = FileSystem.system
                calls.status = { path throws(SystemError) in
                    let status = try FileSystem.system.status(path)
                    let isDone =
                        grows
                        ? (try? file.append([.added(entries)], live: entries.count)) == .recorded
                        : (try? file.replace(with: entries)) != nil
                    guard isDone else { throw SystemError(errno: EIO) }
                    return status
                }
                let image = try RegistryFile.read(folder.path, calls: calls).snapshot
                #expect(image == Fixture.image([.added(entries)]))
            }
            file.close()
        }
    }

    @Test func `a missing registry reads as empty`() async throws {
        try await withTemporaryDirectory { folder in
            for path in [folder.path, folder.path + "/missing"] {
                let image = try RegistryFile.read(path).snapshot
                #expect(image == RegistrySnapshot())
            }
            let names = try FileProbe.names(in: folder)
            #expect(names == [])
        }
    }

    @Test func `K20 S03 a later version and a file that is no registry are rejected`() async throws {
        try await withTemporaryDirectory { folder in
            let journal = folder.appending(path: RegistryStore.fileName)
            try Data(RegistryJournal.header(of: 2)).write(to: journal)
            let error = #expect(throws: DownloadError.self) { try RegistryFile.read(folder.path) }
            #expect(error?.message.contains("a later release (version 2)") == true)
            try FileManager.default.removeItem(at: journal)
            for make in [{ symlink("/etc/passwd", $0) }, { mkfifo($0, 0o600) }, { mkdir($0, 0o700) }]
                as [(String) -> Int32]
            {
                #expect(make(journal.path) == 0)
                let error = #expect(throws: DownloadError.self) { try RegistryFile.read(folder.path) }
                #expect(error?.code == .fileSystem && error?.message.contains(journal.path) == true)
                try FileManager.default.removeItem(at: journal)
            }
        }
    }
}
