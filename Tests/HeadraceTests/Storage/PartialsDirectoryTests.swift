import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Partial files in a directory of their own, on the destination's volume or another one.
@Suite(.timeLimit(.minutes(4)), .computing)
struct PartialsDirectoryTests {
    /// A folder for files, and a directory for partial files that does not exist yet.
    private struct Scene {
        let folder: URL
        let partials: URL
        var files = FileSystem.unsynced

        var names: [String] { (try? FileProbe.names(in: folder)) ?? [] }
        var partialNames: [String] { (try? FileProbe.names(in: partials)) ?? [] }

        func manager(
            _ transport: FakeTransport,
            _ configure: (inout DownloadConfiguration) -> Void = { _ in }
        ) async throws -> DownloadManager {
            try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.retryPolicy.maxFailures = 0
                        $0.partialsDirectory = partials
                        configure(&$0)
                    },
                    transport: transport,
                    files: files,
                    clock: AnyClock(TestClock())
                )
            )
        }

        /// Runs the download of `folder/file.bin`; returns its error and the first byte of each request.
        func run(
            _ policy: DownloadRequest.ConflictPolicy = .rename,
            sending most: Int = .max
        ) async throws -> (error: DownloadError?, starts: [Int]) {
            let transport = FakeTransport(chunkBytes: 64 << 10) { DiskFixture.response($0, sending: most) }
            let manager = try await manager(transport)
            let download = try await manager.download(
                try DiskFixture.request(to: .file(folder.appending(path: "file.bin")), policy)
            )
            var failure: DownloadError?
            do {
                _ = try await download.value
            } catch let error as DownloadError {
                failure = error
            }
            await manager.shutdown()
            return (failure, transport.requests.map(DiskFixture.start))
        }
    }

    private static func withScene(_ volume: PartialsVolume, _ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryDirectory { root in
            var scene = Scene(
                folder: root.appending(path: "folder"),
                partials: root.appending(path: "partials/of/all", directoryHint: .isDirectory)
            )
            if volume == .other { scene.files = scene.files.divided(at: root.appending(path: "partials").path) }
            try await body(scene)
        }
    }

    @Test(arguments: PartialsVolume.allCases)
    func `partial files are in their directory, from which a later run resumes`(_ volume: PartialsVolume) async throws {
        try await Self.withScene(volume) { scene in
            #expect(try await scene.run(sending: 500_000).error?.code == .connectionLost)
            #expect(scene.names == [])
            #expect(scene.partialNames.count == 2, "a partial file and its record: \(scene.partialNames)")
            let later = try await scene.run()
            #expect(later.error == nil)
            #expect(later.starts == [500_000])
            #expect(DiskFixture.isExact(scene.folder.appending(path: "file.bin")))
            #expect(scene.names == ["file.bin"])
            #expect(scene.partialNames == [])
            let mode = FileProbe.permissions(of: scene.folder.appending(path: "file.bin"))
            #expect(mode == UInt16(FileSystem.newFileMode))
        }
    }

    #if os(Linux)
    /// `/dev/shm` is a file system of its own on most systems.
    private static let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    private static var hasVolumes: Bool {
        let devices = [memory, FileManager.default.temporaryDirectory].map {
            (try? FileSystem.system.status($0.path + "/"))?.device
        }
        return devices[0] != nil && devices[0] != devices[1] && access(memory.path, W_OK) == 0
    }

    private static func withVolumes(_ body: (Scene) async throws -> Void) async throws {
        let partials = memory.appending(path: "headrace-\(UUID().uuidString)", directoryHint: .isDirectory)
        defer { try? FileManager.default.removeItem(at: partials) }
        try await withTemporaryDirectory { try await body(Scene(folder: $0, partials: partials)) }
    }

    @Test(.enabled(if: hasVolumes, "there is no second volume"), arguments: [true, false])
    func `a file is copied between two real volumes`(_ isSmall: Bool) async throws {
        try await Self.withVolumes { scene in
            let size = isSmall ? 5000 : DiskFixture.size
            let transport = FakeTransport(chunkBytes: 3000) { DiskFixture.response($0, of: size) }
            let manager = try await scene.manager(transport) {
                $0.storesOrigin = true
                $0.durability = .full
            }
            let file = try await manager.download(try DiskFixture.request(to: .directory(scene.folder))).value
            await manager.shutdown()
            #expect(try FileProbe.bytes(of: file) == Array(DiskFixture.bytes.prefix(size)))
            #expect(scene.names == ["file.bin"])
            #expect(scene.partialNames == [])
        }
    }

    @Test(.enabled(if: hasVolumes, "there is no second volume"), arguments: [0, 1])
    func `L17 a full volume, of the partial file or of the destination, is reported before the first byte`(
        _ full: Int
    ) async throws {
        try await Self.withVolumes { scene in
            try FileManager.default.createDirectory(at: scene.partials, withIntermediateDirectories: true)
            let device = try FileSystem.system.status([scene.partials, scene.folder][full].path)?.device
            var scene = scene
            scene.files.freeSpace = { file throws(SystemError) in
                try FileSystem.system.openStatus(file).device == device ? 1000 : .max
            }
            #expect(try await scene.run().error?.code == .diskFull)
            #expect(scene.names == [])
            #expect(scene.partialNames == [])
        }
    }
    #endif

    @Test func `files of one name in different directories have different partial files`() throws {
        let url = try #require(URL(string: "http://h/file.bin"))
        func path(_ destination: DownloadRequest.Destination, in partials: String?) -> String {
            DestinationPaths(DownloadRequest(url, to: destination)).partialPath(in: partials.map { URL(filePath: $0) })
        }
        let (a, b) = (
            URL(filePath: "/a/", directoryHint: .isDirectory), URL(filePath: "/b/", directoryHint: .isDirectory)
        )
        let first = path(.directory(a), in: "/p/")
        #expect(first.hasPrefix("/p/file.bin.") && first.hasSuffix(".part"))
        #expect(first == path(.directory(a), in: "/p"))
        #expect(first != path(.directory(b), in: "/p"))
        #expect(first != path(.file(a.appending(path: "file.bin")), in: "/p"))
        #expect(path(.directory(a), in: nil).hasPrefix("/a/file.bin."))
        let long = a.appending(path: String(repeating: "é", count: 127))
        #expect(path(.file(long), in: "/p").utf8.count == path(.file(long), in: nil).utf8.count)
    }

    @Test func `two downloads of one name resume each its own bytes`() async throws {
        try await Self.withScene(.other) { scene in
            var other = scene
            other = Scene(folder: scene.folder.appending(path: "b"), partials: scene.partials, files: scene.files)
            _ = try await scene.run(sending: 300_000)
            _ = try await other.run(sending: 600_000)
            #expect(scene.partialNames.count == 4)
            #expect(try await scene.run().starts == [300_000])
            #expect(try await other.run().starts == [600_000])
            #expect(scene.partialNames == [])
        }
    }

    @Test(arguments: DownloadRequest.ConflictPolicy.allCases, PartialsVolume.allCases)
    func `a file that appears during the download is treated as the conflict policy says`(
        _ policy: DownloadRequest.ConflictPolicy,
        _ volume: PartialsVolume
    ) async throws {
        try await Self.withScene(volume) { scene in
            let existing = scene.folder.appending(path: "file.bin")
            let files = scene.files
            let recorder = FileSystemRecorder(to: files) { call throws(SystemError) in
                if case .write(offset: 0, _) = call, FileProbe.size(of: existing) == nil {
                    try? Data("theirs".utf8).write(to: existing)
                }
            }
            var scene = scene
            scene.files = recorder.fileCalls
            let error = try await scene.run(policy).error
            #expect(error?.code == (policy == .fail ? .fileExists : nil))
            #expect(DiskFixture.isExact(existing) == (policy == .overwrite))
            #expect(scene.names == (policy == .rename ? ["file (1).bin", "file.bin"] : ["file.bin"]))
            #expect(scene.partialNames.count == (policy == .fail ? 2 : 0), "\(scene.partialNames)")
            guard policy == .fail else { return }
            // The complete file is kept, and needs no request.
            try FileManager.default.removeItem(at: existing)
            scene.files = files
            let later = try await scene.run(policy)
            #expect(later.error == nil && later.starts.isEmpty)
            #expect(scene.names == ["file.bin"] && scene.partialNames == [])
        }
    }

    @Test func `a failed sync of the copy keeps the complete original`() async throws {
        try await Self.withScene(.other) { scene in
            let files = scene.files
            let recorder = FileSystemRecorder(
                to: files,
                withPaths: { call, path throws(SystemError) in
                    guard case .sync = call, path.hasSuffix(ReservedFileNames.copySuffix) else { return }
                    throw SystemError(errno: EIO)
                }
            )
            var scene = scene
            scene.files = recorder.fileCalls
            let transport = FakeTransport(chunkBytes: 64 << 10) { DiskFixture.response($0) }
            // Without other syncs, only the version that the copy gets is synced.
            let manager = try await scene.manager(transport) { $0.durability = .none }
            var request = try DiskFixture.request(to: .file(scene.folder.appending(path: "file.bin")), .overwrite)
            request.refetchPolicy = .ifChanged
            let download = try await manager.download(request)
            await #expect(throws: DownloadError.self) { try await download.value }
            await manager.shutdown()
            #expect(scene.names == [])
            scene.files = files
            let later = try await scene.run()
            #expect(later.error == nil && later.starts == [])
            #expect(scene.names == ["file.bin"] && scene.partialNames == [])
        }
    }

    @Test(arguments: [true, false])
    func `a pause or cancellation stops the copy to another volume, which is removed`(_ isPause: Bool) async throws {
        try await Self.withScene(.other) { scene in
            let stopped = RecordGate()
            let (copying, begin) = AsyncStream.makeStream(of: Void.self)
            let recorder = FileSystemRecorder(
                to: scene.files,
                withPaths: { call, path throws(SystemError) in
                    guard case .write(let offset, _) = call, offset > 0, path.hasSuffix(ReservedFileNames.copySuffix)
                    else { return }
                    begin.yield()
                    stopped.wait()
                }
            )
            var scene = scene
            scene.files = recorder.fileCalls
            let manager = try await scene.manager(FakeTransport(chunkBytes: 64 << 10) { DiskFixture.response($0) })
            let download = try await manager.download(
                try DiskFixture.request(to: .file(scene.folder.appending(path: "file.bin")))
            )
            for await _ in copying { break }
            #expect(scene.names.count == 1)
            _ = try await manager.stop(.downloads([download.id]), isPause ? .pause : .cancel)
            stopped.open()
            for await state in download.states where state == .paused || state == .cancelled { break }
            #expect(scene.names == [])
            #expect(FileProbe.size(of: download.partialFile) == (isPause ? Int64(DiskFixture.size) : nil))
            await manager.shutdown()
            guard isPause else { return #expect(scene.partialNames == []) }
            let later = try await scene.run()
            #expect(later.error == nil && later.starts.isEmpty)
            #expect(scene.names == ["file.bin"])
        }
    }

    @Test func `a copy that a killed process left is removed, with the download or by its next run`() async throws {
        for isRemoved in [true, false] {
            try await Self.withScene(.other) { scene in
                _ = try await scene.run(sending: 500_000)
                let request = try DiskFixture.request(to: .file(scene.folder.appending(path: "file.bin")))
                let copy = DestinationPaths(request).partialPath + ReservedFileNames.copySuffix
                try Data("left".utf8).write(to: URL(filePath: copy))
                let manager = try await scene.manager(
                    FakeTransport(chunkBytes: 64 << 10) { DiskFixture.response($0, sending: isRemoved ? 0 : .max) }
                )
                let download = try await manager.download(request)
                _ = try? await download.value
                if isRemoved {
                    try Data("left".utf8).write(to: URL(filePath: copy))
                    await download.remove(deletingFile: true)
                }
                await manager.shutdown()
                #expect(scene.names == (isRemoved ? [] : ["file.bin"]))
                #expect(scene.partialNames == [])
            }
        }
    }

    @Test func `K27 two managers do not write one partial file`() async throws {
        try await Self.withScene(.same) { scene in
            let (reached, begin) = AsyncStream.makeStream(of: Void.self)
            let gate = RecordGate()
            let recorder = FileSystemRecorder(to: scene.files) { call throws(SystemError) in
                guard case .write(let offset, _) = call, offset > 0 else { return }
                begin.yield()
                gate.wait()
            }
            var slow = scene
            slow.files = recorder.fileCalls
            async let first = slow.run()
            for await _ in reached { break }
            let second = try await scene.run()
            gate.open()
            let error = try await first.error
            #expect(second.error?.code == .busy)
            #expect(error == nil)
        }
    }
}
