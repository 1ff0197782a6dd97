import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Commands from one process to another, on a real disk and on one that crashes.
@Suite(.timeLimit(.minutes(4)))
struct CommandSpoolTests {
    private typealias Fixture = RegistryFixture
    typealias Call = FileSystemRecorder.Call

    private let hour: UInt64 = 3600 * 1_000_000_000

    private func inbox(_ folder: URL, calls: FileSystem = .unsynced) -> CommandSpool {
        CommandSpool(in: folder.path, calls: calls)
    }

    private func path(_ folder: URL) -> URL { folder.appending(path: CommandSpool.folderName) }

    @Test func `commands left for a terminated manager are executed on request`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            try await registry.takeCommands()
            #expect(FileProbe.size(of: registry.directory) == nil)
            let url = try #require(URL(string: "http://h/a"))
            let ids = try await registry.add([DownloadRequest(url, to: .directory(folder))]).ids
            try inbox(registry.directory).post(.pause(ids.map(\.rawValue)))
            #expect(try await registry.downloads().map(\.state) == [.waiting])
            try await registry.takeCommands()
            #expect(try await registry.downloads().map(\.state) == [.paused])
            #expect(try inbox(registry.directory).hasCommands == false)
        }
    }

    @Test func `commands are taken in posting order until they are done`() async throws {
        try await withTemporaryDirectory { folder in
            let inbox = inbox(folder)
            #expect(try inbox.take() == CommandSpool.Contents())
            let commands: [RegistryCommand] = [.pause([1]), .resume([1]), .priority(1, 3)]
            for (index, command) in commands.enumerated() { try inbox.post(command, at: 1 << (UInt64(index) * 20)) }
            let contents = try inbox.take()
            #expect(contents.items.map(\.command) == commands)
            #expect(contents.refusals == [])
            #expect(try inbox.take() == contents)
            #expect(FileProbe.permissions(of: path(folder)) == 0o700)
            for item in contents.items {
                #expect(FileProbe.permissions(of: URL(filePath: item.path)) == 0o600)
                #expect(item.path.contains("-\(getpid())-"))
            }
            try inbox.done([contents.items[0].path])
            try inbox.done([contents.items[0].path])
            #expect(try inbox.take().items == Array(contents.items[1...]))
            try inbox.done(contents.items.map(\.path))
            #expect(try FileProbe.names(in: path(folder)) == [])
        }
    }

    @Test func `the posting time is wall-clock time`() async throws {
        try await withTemporaryDirectory { folder in
            for id: UInt64 in 0..<20 { try inbox(folder).post(.pause([id])) }
            let contents = try inbox(folder).take()
            #expect(Set(contents.items.map(\.command)) == Set((0..<20).map { .pause([$0]) }))
            let name = try #require(FileProbe.names(in: path(folder)).first)
            let time = try #require(UInt64(hexadecimal: name.utf8.prefix(16)))
            #expect(abs(Double(time) / 1e9 - Date().timeIntervalSince1970) < 600)
        }
    }

    @Test func `a command is synced before it is renamed, and then its directory is`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder(to: .unsynced)
            let inbox = inbox(folder, calls: recorder.fileCalls)
            try inbox.post(.pause([1]), at: 1)
            let kinds = recorder.calls.filter { if case .write = $0 { false } else { true } }
            #expect(
                kinds == [
                    .status, .createDirectory, .syncDirectory, .create, .sync, .close, .move, .syncDirectory,
                ]
            )
        }
    }

    @Test func `K18 K20 an invalid command is quarantined and reported, and the others are taken`() async throws {
        try await withTemporaryDirectory { folder in
            let inbox = inbox(folder)
            try inbox.post(.pause([1]), at: 1)
            try inbox.post(.pause([2]), at: 9)
            let later = RegistryJournal.line(of: Array(#"["paint","blue"]"#.utf8))
            let files: [(name: String, bytes: [UInt8])] = [
                ("0000000000000002-1-x", Array("rotten".utf8)), ("0000000000000003-1-x", []),
                ("0000000000000004-1-x", later),
            ]
            for (name, bytes) in files { try Data(bytes).write(to: path(folder).appending(path: "\(name).command")) }
            #expect(symlink("/etc/passwd", path(folder).appending(path: "0000000000000005-1-x.command").path) == 0)
            #expect(mkdir(path(folder).appending(path: "0000000000000006-1-x.command").path, 0o700) == 0)
            #expect(mkfifo(path(folder).appending(path: "0000000000000007-1-x.command").path, 0o600) == 0)
            let contents = try inbox.take()
            #expect(contents.items.map(\.command) == [.pause([1]), .pause([2])])
            #expect(
                contents.refusals.map(\.reason) == [
                    .damaged, .damaged, .newer(#"the command "paint""#), .unreadable(SystemError(errno: EINVAL)),
                    .unreadable(SystemError(errno: EINVAL)), .unreadable(SystemError(errno: EINVAL)),
                ]
            )
            for refusal in contents.refusals {
                #expect(try FileSystem.system.status(refusal.path) != nil)
                #expect(refusal.path.hasSuffix(".command.unread"))
                #expect(refusal.description.contains(refusal.path) && refusal.description.hasSuffix("."))
            }
            for (name, bytes) in files {
                #expect(try FileProbe.bytes(of: path(folder).appending(path: "\(name).command.unread")) == bytes)
            }
            #expect(try inbox.take() == CommandSpool.Contents(items: contents.items))
        }
    }

    /// Regression: the command was quarantined, and never executed.
    @Test(arguments: [Call.status, .read], [EMFILE, ENOMEM])
    func `a command that cannot be read at present stays for a later poll`(_ step: Call, _ errno: Int32) async throws {
        try await withTemporaryDirectory { folder in
            try inbox(folder).post(.pause([1]))
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == step { throw SystemError(errno: errno) }
            }
            let error = #expect(throws: DownloadError.self) { try inbox(folder, calls: recorder.fileCalls).take() }
            #expect(error?.code == .fileSystem)
            #expect(try inbox(folder).take().items.map(\.command) == [.pause([1])])
        }
    }

    @Test func `a command that this user may not read is quarantined`() async throws {
        try await withTemporaryDirectory { folder in
            try inbox(folder).post(.pause([1]))
            var calls = FileSystem.unsynced
            calls.read = { _, _ throws(SystemError) in throw SystemError(errno: EACCES) }
            let refusals = try inbox(folder, calls: calls).take().refusals
            #expect(refusals.map(\.reason) == [.unreadable(SystemError(errno: EACCES))])
        }
    }

    /// Regression: a command whose status could not be read counted as done.
    @Test func `a command whose status cannot be read is not considered done`() async throws {
        try await withTemporaryDirectory { folder in
            let path = try inbox(folder).post(.pause([1]))
            var calls = FileSystem.unsynced
            calls.status = { _ throws(SystemError) in throw SystemError(errno: EIO) }
            #expect(try inbox(folder, calls: calls).isDone(path) == false)
        }
    }

    /// Regression: the error of a refused command advised to stop the manager, as if it did not understand the command.
    @Test func `a refused command and one that is not understood are reported differently`() async throws {
        try await withTemporaryDirectory { folder in
            let (refused, unread) = (try inbox(folder).post(.pause([1])), try inbox(folder).post(.pause([2])))
            #expect(inbox(folder).quarantine(refused, as: CommandSpool.refusedSuffix) == refused + ".refused")
            #expect(inbox(folder).quarantine(unread) == unread + ".unread")
            var error = #expect(throws: DownloadError.self) { try inbox(folder).isDone(refused) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(refused + ".refused") == true && error?.message.contains("Stop") == false)
            error = #expect(throws: DownloadError.self) { try inbox(folder).isDone(unread) }
            #expect(error?.code == .fileSystem)
            #expect(error?.message.contains(unread + ".unread") == true && error?.message.contains("Stop") == true)
            #expect(try inbox(folder).take() == CommandSpool.Contents())
        }
    }

    @Test func `a file being written by another process stays until that process is long dead`() async throws {
        try await withTemporaryDirectory { folder in
            try inbox(folder).post(.pause([1]), at: 1)
            let begun = path(folder).appending(path: "\((5 * hour).hexadecimal)-1-x.command.new")
            try Data("half".utf8).write(to: begun)
            try Data("mine".utf8).write(to: path(folder).appending(path: "notes.new"))
            for time in [0, 5 * hour, 6 * hour] { _ = try inbox(folder).take(at: time) }
            #expect(FileProbe.size(of: begun) == 4)
            _ = try inbox(folder).take(at: 6 * hour + 1)
            #expect(FileProbe.size(of: begun) == nil)
            #expect(try FileProbe.names(in: path(folder)).count == 2)
        }
    }

    @Test func `a command to a directory without a registry is rejected`() async throws {
        try await withTemporaryDirectory { folder in
            let error = #expect(throws: DownloadError.self) {
                try inbox(folder.appending(path: "missing")).post(.pause([1]))
            }
            #expect(error?.code == .fileSystem)
            #expect(error?.message.contains("missing/inbox") == true)
        }
    }

    @Test(arguments: [Call.createDirectory, .create, .sync, .close, .move, .syncDirectory])
    func `K01 a command that the disk refuses is reported and leaves nothing behind`(_ step: Call) async throws {
        try await withTemporaryDirectory { folder in
            let isFull = Locked(true)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                if call == step, isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
            }
            let inbox = inbox(folder, calls: recorder.fileCalls)
            for _ in 0..<2 {
                let error = #expect(throws: DownloadError.self) { try inbox.post(.pause([1])) }
                #expect(error?.code == .diskFull)
                let contents = try CommandSpool(in: folder.path).take()
                #expect(contents == CommandSpool.Contents())
            }
            isFull.withLock { $0 = false }
            try inbox.post(.pause([2]))
            #expect(try inbox.take().items.map(\.command) == [.pause([2])])
            #expect(try FileProbe.names(in: path(folder)).count == 1)
        }
    }

    /// The process is killed, or the machine loses power, during a post.
    @Test(arguments: Crash.allCases)
    func `X01 X02 a post interrupted by a crash leaves the whole command or nothing`(_ crash: Crash) throws {
        for seed: UInt64 in 0..<5 {
            let disk = MemoryDisk()
            let inbox = CommandSpool(in: "/list", calls: disk.calls)
            try inbox.post(.pause([1]), at: 1)
            let first = disk.changes.count
            try inbox.post(.pause([2]), at: 2)
            for count in 0...disk.changes.count {
                let image = crash.image(after: disk.changes.prefix(count), seed: seed &+ UInt64(count))
                let left = try CommandSpool(in: "/list", calls: MemoryDisk(image).calls).take()
                let commands = left.items.map(\.command)
                #expect(left.refusals == [], "\(crash), seed \(seed), after \(count) changes")
                switch count {
                case disk.changes.count: #expect(commands == [.pause([1]), .pause([2])])
                case first...: #expect([[.pause([1])], [.pause([1]), .pause([2])]].contains(commands))
                default: #expect([[], [.pause([1])]].contains(commands))
                }
            }
        }
    }
}
