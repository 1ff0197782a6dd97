import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The state of a partial file and its record between two runs.
@Suite(.timeLimit(.minutes(4)))
struct RecoveredPartialTests {
    private static let held = DiskFixture.held

    /// Runs again and expects a single request from `start`.
    private func expectExact(in folder: URL, from start: Int64) async throws {
        let outcome = try await DiskFixture.run(to: .directory(folder), files: .system)
        #expect(outcome.error == nil)
        #expect(outcome.starts == [start])
        #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        #expect(try FileProbe.names(in: folder) == ["file.bin"])
    }

    /// Runs again and expects no request and no renamed file.
    private func expectRefusal(in folder: URL) async throws -> DownloadError? {
        let outcome = try await DiskFixture.run(to: .directory(folder), files: .system)
        #expect(outcome.error?.code == .fileSystem)
        #expect(outcome.starts == [])
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "file.bin").path))
        return outcome.error
    }

    @Test func `X01 bytes and record left by another run are resumed`() async throws {
        try await DiskFixture.withLeftovers { folder, _, _ in try await expectExact(in: folder, from: Self.held) }
    }

    /// The state after Ctrl-C followed by a reboot or a power cut.
    @Test(arguments: [DownloadConfiguration.Durability.none, .full], Crash.allCases)
    func `bytes saved at a stop are resumed after a reboot`(
        _ durability: DownloadConfiguration.Durability,
        _ crash: Crash
    ) async throws {
        let first = MemoryDisk(bootID: "first")
        let cut = try await DiskFixture.run(to: CrashFixture.destination, files: first.calls, durability: durability) {
            DiskFixture.response($0, sending: 3000, of: 8000)
        }
        #expect(cut.error != nil)
        let next = MemoryDisk(crash.image(after: first.changes, seed: 1), bootID: "next")
        let outcome = try await DiskFixture.run(to: CrashFixture.destination, files: next.calls, durability: durability)
        {
            DiskFixture.response($0, sending: 8000, of: 8000)
        }
        #expect(outcome.error == nil)
        #expect(outcome.starts == [3000])
        #expect(next.image.bytes(of: CrashFixture.final) == Array(DiskFixture.bytes.prefix(8000)))
    }

    @Test func `bytes that another process has replaced are read again for the checksum`() async throws {
        let (size, new) = (600_000, Pattern(seed: 9).bytes(in: 0..<600_000))
        try await withTemporaryDirectory { folder in
            let isReplaced = Locked(false)
            let clock = TestClock()
            let transport = FakeTransport(chunkBytes: 64 << 10) { request in
                isReplaced.withLock { $0 }
                    ? DiskFixture.response(request, of: size, new, "\"v2\"")
                    : DiskFixture.response(request, sending: 400_000, of: size)
            }
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration { $0.retryPolicy.baseDelay = .seconds(10) },
                    transport: transport,
                    clock: AnyClock(clock)
                )
            )
            var request = try DiskFixture.request(to: .directory(folder))
            request.checksums = [try Checksum(.sha256, of: new)]
            let download = try await manager.download(request)
            for await event in download.events { if case .retrying = event { break } }
            for await state in download.states where state == .waiting { break }
            let other = try await DiskFixture.run(to: .directory(folder), files: .system) {
                DiskFixture.response($0, sending: 500_000, of: size, new, "\"v2\"")
            }
            #expect(other.error != nil)
            isReplaced.withLock { $0 = true }
            clock.advance(by: .seconds(60))
            let file = try await download.value
            await manager.shutdown()
            #expect(try Array(Data(contentsOf: file)) == new)
            #expect(transport.requests.map { DiskFixture.start(of: $0) } == [0, 500_000])
        }
    }

    @Test func `S05 only the owner can read the partial file and its record`() async throws {
        try await DiskFixture.withLeftovers { _, partial, record in
            #expect(FileProbe.permissions(of: partial) == 0o600)
            #expect(FileProbe.permissions(of: record) == 0o600)
        }
    }

    /// Regression: the partial file was removed and downloaded again.
    @Test func `a partial file that a backup has linked is resumed`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            try await withTemporaryDirectory { backup in
                #expect(link(partial.path, backup.appending(path: "file").path) == 0)
                try await expectExact(in: folder, from: Self.held)
            }
        }
    }

    /// Regression: the descriptor was closed again when another file could already have its number.
    @Test func `the partial file of a skipped download is removed, and closed only once`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            _ = try await DiskFixture.run(to: .file(file), files: .system) {
                DiskFixture.response($0, sending: Int(Self.held))
            }
            #expect(try FileProbe.names(in: folder).count == 2)
            try Data("old".utf8).write(to: file)
            let recorder = FileSystemRecorder(to: .system)
            let outcome = try await DiskFixture.run(to: .file(file), .skip, files: recorder.fileCalls)
            #expect(outcome.error == nil)
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
            #expect(recorder.calls.count { $0 == .open } == 1)
            #expect(recorder.calls.count { $0 == .close } == 1)
        }
    }

    /// The other link may be the file under its final name.
    @Test func `a partial file with another link is discarded without a change of that link`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            let other = folder.appending(path: "other")
            #expect(link(partial.path, other.path) == 0)
            try FileManager.default.removeItem(at: record)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(outcome.error == nil)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            #expect(try FileProbe.bytes(of: other) == Array(DiskFixture.bytes.prefix(Int(Self.held))))
            #expect(try FileProbe.names(in: folder) == ["file.bin", "other"])
        }
    }

    /// The process was killed after it linked the file to its final name, and before it removed the partial file.
    @Test func `X03 a partial file that has its final name too is the result`() async throws {
        try await DiskFixture.withNamedLeftovers { folder, final in
            #expect(link(final.path, try DiskFixture.partial(in: folder).path) == 0)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [])
            #expect(outcome.events.contains(.skipped(final)))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `K11 a removed partial file is downloaded from the start`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            try FileManager.default.removeItem(at: partial)
            try await expectExact(in: folder, from: 0)
        }
    }

    @Test func `K11 a partial file without its record is not trusted`() async throws {
        try await DiskFixture.withLeftovers { folder, _, record in
            try FileManager.default.removeItem(at: record)
            try await expectExact(in: folder, from: 0)
        }
    }

    @Test(arguments: [100_000, 500_000, 5_000_000])
    func `K14 K15 K16 the record and the file size limit what is resumed`(_ size: Int) async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            #expect(truncate(partial.path, off_t(size)) == 0)
            try await expectExact(in: folder, from: min(Int64(size), Self.held))
        }
    }

    @Test func `K13 another file under the partial file's name is not trusted`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            let other = URL(filePath: partial.path + ".other")
            try Data(repeating: 7, count: Int(Self.held)).write(to: other)
            #expect(rename(other.path, partial.path) == 0)
            try await expectExact(in: folder, from: 0)
        }
    }

    @Test(arguments: ["link", "pipe", "directory"])
    func `K13 S03 a link, pipe or directory is not touched, followed or waited for`(_ kind: String) async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            let target = folder.appending(path: "precious")
            try Data("precious".utf8).write(to: target)
            try FileManager.default.removeItem(at: partial)
            switch kind {
            case "link": #expect(symlink(target.path, partial.path) == 0)
            case "pipe": #expect(mkfifo(partial.path, 0o600) == 0)
            default: try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: false)
            }
            _ = try await expectRefusal(in: folder)
            #expect(try FileProbe.bytes(of: target) == Array("precious".utf8))
        }
    }

    @Test func `K18 K19 a damaged record restarts only its own download`() async throws {
        try await DiskFixture.withLeftovers { folder, _, record in
            var bytes = try FileProbe.bytes(of: record)
            bytes[bytes.count / 2] ^= 4
            try Data(bytes).write(to: record)
            try await expectExact(in: folder, from: 0)
        }
    }

    @Test func `K20 a record of a later release and its bytes are left untouched`() async throws {
        let text = "headrace-record 2 00000000 2\n{}\n"
        try await DiskFixture.withLeftovers { folder, partial, record in
            try Data(text.utf8).write(to: record)
            let error = try await expectRefusal(in: folder)
            #expect(error?.message.contains("later release") == true)
            #expect(FileProbe.size(of: partial) == Self.held)
            #expect(try FileProbe.bytes(of: record) == Array(text.utf8))
        }
    }

    @Test func `bytes discarded because resuming is off are reported`() async throws {
        try await DiskFixture.withLeftovers { folder, _, _ in
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, resumes: false)
            #expect(outcome.error == nil)
            #expect(outcome.starts == [0])
            #expect(outcome.events.contains(.restarted(reason: .resumingDisabled, bytesWasted: Self.held)))
        }
    }

    /// The process was killed after the rename and before the record was removed; the next run skips existing files.
    @Test func `X03 a record without its partial file is removed when the file is skipped`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            let names = DestinationPaths(try DiskFixture.request(to: .file(file)))
            let path = names.partialPath + RecordFile.suffix
            var record = try ControlRecord.sample()
            try Data("whole".utf8).write(to: file)
            for state in [ControlRecord.State.finalising("file.bin"), .receiving] {
                record.state = state
                try Data(try #require(record.encoded())).write(to: URL(filePath: path))
                let outcome = try await DiskFixture.run(to: .file(file), .skip, files: .system)
                #expect(outcome.error == nil)
                #expect(outcome.starts == [])
                #expect(outcome.events.contains(.skipped(file)))
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
            }
        }
    }

    @Test func `K20 files of a later release stay even if the file is skipped`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            _ = try await DiskFixture.run(to: .file(file), files: .system) {
                DiskFixture.response($0, sending: Int(Self.held))
            }
            let partialPath = DestinationPaths(try DiskFixture.request(to: .file(file))).partialPath
            let record = URL(filePath: partialPath + RecordFile.suffix)
            try Data("headrace-record 2 00000000 2\n{}\n".utf8).write(to: record)
            try Data("whole".utf8).write(to: file)
            let outcome = try await DiskFixture.run(to: .file(file), .skip, files: .system)
            #expect(outcome.events.contains(.skipped(file)))
            #expect(try FileProbe.names(in: folder).count == 3)
        }
    }

    @Test(arguments: [true, false])
    func `X03 skipping removes the files of an interrupted download`(_ isNamed: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            let destination = isNamed ? DownloadRequest.Destination.file(file) : .directory(folder)
            _ = try await DiskFixture.run(to: destination, files: .system) {
                DiskFixture.response($0, sending: Int(Self.held))
            }
            #expect(try FileProbe.names(in: folder).count == 2)
            try Data("whole".utf8).write(to: file)
            let outcome = try await DiskFixture.run(to: destination, .skip, files: .system)
            #expect(outcome.events.contains(.skipped(file)))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `X03 a file that was already renamed is the result if it matches the request`() async throws {
        let right = try Checksum(of: .bytes(Array(DiskFixture.bytes.prefix(Int(Self.held)))))
        for checksums in [[], [right]] {
            try await DiskFixture.withNamedLeftovers { folder, final in
                let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, checksums: checksums)
                #expect(outcome.error == nil)
                #expect(outcome.starts == [])
                #expect(outcome.events.contains(.skipped(final)))
                #expect(outcome.events.contains(.verified(right)) == !checksums.isEmpty)
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
            }
        }
    }

    /// Regression: it was the result even if another checksum was requested.
    @Test(arguments: [DownloadRequest.ConflictPolicy.rename, .overwrite])
    func `X03 a renamed file that does not match the request is downloaded again`(
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        let other = try Checksum(of: .bytes(Array(DiskFixture.bytes.prefix(DiskFixture.size))))
        try await DiskFixture.withNamedLeftovers { folder, final in
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                policy,
                files: .system,
                checksums: policy == .rename ? [other] : []
            )
            #expect(outcome.error == nil)
            #expect(outcome.starts == [0])
            #expect(DiskFixture.isExact(policy == .rename ? folder.appending(path: "file (1).bin") : final))
            #expect(try FileProbe.names(in: folder).count == (policy == .rename ? 2 : 1))
        }
    }

    @Test(arguments: [true, false])
    func `X03 a renamed file is verified against its piece hashes`(_ isRight: Bool) async throws {
        let (bytes, half) = (Array(DiskFixture.bytes.prefix(Int(Self.held))), Int(Self.held) / 2)
        let checksums = try [bytes.prefix(half), bytes.suffix(half)].map { try Checksum(of: .bytes(Array($0))) }
        let pieces = try #require(PieceHashes(length: Int64(half), checksums: checksums))
        try await DiskFixture.withNamedLeftovers { folder, final in
            if !isRight { try Data(repeating: 7, count: bytes.count).write(to: final) }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, pieces: pieces) {
                DiskFixture.response($0, of: bytes.count)
            }
            #expect(outcome.error == nil)
            #expect(outcome.starts == (isRight ? [] : [0]))
            #expect(outcome.events.contains(.skipped(final)) == isRight)
            let file = isRight ? final : folder.appending(path: "file (1).bin")
            #expect(try FileProbe.bytes(of: file) == bytes)
            #expect(try FileProbe.names(in: folder).count == (isRight ? 1 : 2))
        }
    }

    /// Regression: the file was lost as the result, and the reason for stopping was reported as an error.
    @Test(
        arguments: [
            .paused, .cancelled, .demoted, .networkChanged, .shutDown, .timedOut(after: .seconds(1)),
        ] as [StopSignal.Reason]
    )
    func `X03 a file whose verification is stopped is the result of the next run`(
        _ reason: StopSignal.Reason
    ) async throws {
        let right = try Checksum(of: .bytes(Array(DiskFixture.bytes.prefix(Int(Self.held)))))
        try await DiskFixture.withNamedLeftovers { folder, final in
            var request = try DiskFixture.request(to: .directory(folder))
            request.checksums = [right]
            let record = DownloadRecord(id: Download.ID(rawValue: 1), request: request)
            let stop = StopSignal()
            var files = FileSystem.system
            files.status = { path throws(SystemError) in
                // The status is read just before the file.
                if path.hasSuffix("/file.bin") { stop.stop(reason) }
                return try FileSystem.system.status(path)
            }
            let environment = TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: FakeTransport { DiskFixture.response($0) },
                files: files,
                clock: AnyClock(TestClock())
            )
            // A separate task, which is the one that is cancelled.
            async let stopped = stop.cancellingTask {
                var transfer = DownloadTransfer(record, stop, in: environment)
                return await transfer.runWithinTimeLimit()
            }
            switch await stopped {
            case .stopped(let keptBytes): #expect(keptBytes)
            case .retry: #expect(reason == .networkChanged)
            case .failed(let error): #expect(error.code == .timedOut)
            case .finished: Issue.record("The check was not stopped.")
            }
            #expect(try FileProbe.names(in: folder).count == 2)
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, checksums: [right])
            #expect(outcome.starts == [])
            #expect(outcome.events.contains(.skipped(final)))
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    /// Regression: a file whose status could not be read was treated as missing.
    @Test func `X03 a record stays if the status of its partial file cannot be read`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            let partialPath = DestinationPaths(try DiskFixture.request(to: .file(file))).partialPath
            var record = try ControlRecord.sample()
            record.state = .finalising("file.bin")
            try Data("whole".utf8).write(to: file)
            try Data(try #require(record.encoded())).write(to: URL(filePath: partialPath + RecordFile.suffix))
            var files = FileSystem.system
            files.status = { path throws(SystemError) in
                guard path != partialPath else { throw SystemError(errno: EIO) }
                return try FileSystem.system.status(path)
            }
            let outcome = try await DiskFixture.run(to: .file(file), .skip, files: files)
            #expect(outcome.events.contains(.skipped(file)))
            #expect(try FileProbe.names(in: folder).count == 2)
        }
    }

    @Test func `K27 a second download on the same partial file is rejected until the first is gone`() async throws {
        try await DiskFixture.withLeftovers { folder, partial, _ in
            // Another process holds the lock; here a second descriptor does.
            let file = open(partial.path, O_RDWR | O_CLOEXEC)
            #expect(flock(file, LOCK_EX | LOCK_NB) == 0)
            let error = #expect(throws: DownloadError.self) {
                try PartialFile.existing(partial.path, calls: .system)
            }
            #expect(error?.code == .busy)
            // The kernel closes the descriptors of a killed process in the same way.
            close(file)
            try await expectExact(in: folder, from: Self.held)
        }
    }

    /// Regression: after a kill, that record described the bytes of this process, and holes counted as received.
    @Test(arguments: [DiskFixture.size, 5000])
    func `K27 a partial file that another process leaves during the request is reused without its record`(
        _ size: Int
    ) async throws {
        try await DiskFixture.withLeftovers { folder, partial, record in
            let left = [partial, record].map { (path: $0.path, aside: $0.path + ".aside") }
            for (path, aside) in left { try FileSystem.system.move(path, aside) }
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                // The small file is then copied to the partial file.
                if call == .linkOpen { throw SystemError(errno: EACCES) }
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: recorder.fileCalls) {
                for (path, aside) in left { try FileSystem.system.move(aside, path) }
                return DiskFixture.response($0, of: size)
            }
            #expect(outcome.error == nil)
            let file = folder.appending(path: "file.bin")
            #expect(try FileProbe.bytes(of: file) == Array(DiskFixture.bytes.prefix(size)))
            let calls = recorder.calls.filter { $0 != .openStatus }
            let truncation = try #require(calls.firstIndex(of: .truncate(0)))
            #expect(calls[..<truncation].suffix(2) == [.remove, .syncDirectory])
        }
    }

    /// Regression: it stayed locked until the process ended.
    @Test func `K27 a partial file that cannot be truncated is closed`() async throws {
        try await withTemporaryDirectory { folder in
            let path = folder.appending(path: "file.part").path
            try Data("theirs".utf8).write(to: URL(filePath: path))
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if case .truncate = call { throw SystemError(errno: EIO) }
            }
            #expect(throws: DownloadError.self) {
                try PartialFile.create(path, calls: SharedFileSystem(recorder.fileCalls))
            }
            try PartialFile.create(path, calls: .system).close()
        }
    }

    @Test func `K27 a download whose partial file is being written fails and leaves it alone`() async throws {
        try await withTemporaryDirectory { folder in
            let gate = try Gate()
            try await withFaultServer(.ok(.pattern(size: 200_000)).held(after: 100_000, until: gate)) { server in
                let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                // A long time-out, so that waiting is no stall even on a busy machine.
                try await withDownloadManager(.init { $0.stallTimeout = .seconds(600) }) { one in
                    let first = try await one.download(request)
                    for await progress in first.progress where progress.bytesReceived > 0 { break }
                    try await withDownloadManager { other in
                        let second = try await other.download(request)
                        let error = await #expect(throws: DownloadError.self) { try await second.value }
                        #expect(error?.code == .busy)
                    }
                    gate.open()
                    let file = try await first.value
                    #expect(Response.Body.pattern(size: 200_000).difference(fromFileAt: file) == nil)
                    #expect(server.requests.count == 1)
                    #expect(try FileProbe.names(in: folder) == ["file.bin"])
                }
            }
        }
    }
}
