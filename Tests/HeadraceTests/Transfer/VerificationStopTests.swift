import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Reading a file for its checksum: stopping it, and read errors.
@Suite(.timeLimit(.minutes(4)))
struct VerificationStopTests {
    private typealias Fixture = ResumeFixture
    /// Large enough to be read in several buffers, and too small for a second connection.
    private let file = Resource(size: 2 << 20 - 1, seed: 6)
    private var cut: Int64 { 1 << 20 }

    /// Runs a download that is cut, and resumes it over `calls`, so that the file is read for its checksum.
    private func resume(
        over calls: FileSystem,
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: (Download) async throws -> Void
    ) async throws {
        let expected = try Checksum(of: file.body)
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(file).truncated(after: cut)], then: .file(file))
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                let manager = try await DownloadManager(
                    environment: TransferEnvironment(
                        configuration: DownloadConfiguration { $0.retryPolicy.maxFailures = 0 },
                        transport: try DownloadConfiguration().makeTransport(),
                        files: calls,
                        clock: AnyClock(clock)
                    )
                )
                var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                request.checksums = [expected]
                let download = try await manager.download(request)
                try await body(download)
                await manager.shutdown()
                #expect(server.requests.count == 2)
            }
        }
    }

    @Test(arguments: [true, false])
    func `C08 a pause or cancellation stops the verification before the next buffer`(_ isPause: Bool) async throws {
        let stopped = RecordGate()
        let (reading, begin) = AsyncStream.makeStream(of: Void.self)
        let recorder = FileSystemRecorder { call throws(SystemError) in
            guard case .readAt(let offset, _) = call, offset > 0 else { return }
            begin.yield()
            stopped.wait()
        }
        try await resume(over: recorder.fileCalls) { download in
            for await _ in reading { break }
            // These calls return at once; those of the download return only when it has stopped, but it is reading.
            let manager = download.manager
            if isPause {
                _ = try await manager.stop(.downloads([download.id]), .pause)
            } else {
                _ = try await manager.stop(.downloads([download.id]), .cancel)
            }
            stopped.open()
            for await state in download.states where state == .paused || state == .cancelled { break }
            let reads = recorder.calls.filter { if case .readAt = $0 { true } else { false } }
            #expect(reads.count == 2)
            #expect(FileProbe.size(of: download.partialFile) == (isPause ? file.size : nil))
            guard isPause else { return }
            await download.resume()
            let path = try await download.value
            #expect(file.body.difference(fromFileAt: path) == nil)
        }
    }

    @Test func `K05 a read error during verification fails the download and keeps the bytes`() async throws {
        let recorder = FileSystemRecorder { call throws(SystemError) in
            if case .readAt(let offset, _) = call, offset > 0 { throw SystemError(errno: EIO) }
        }
        try await resume(over: recorder.fileCalls) { download in
            let error = await #expect(throws: DownloadError.self) { try await download.value }
            #expect(error?.code == .fileSystem)
            #expect(FileProbe.size(of: download.partialFile) == file.size)
        }
    }

    @Test func `the progress reports the verified bytes`() async throws {
        let clock = TestClock()
        let isSeen = RecordGate()
        // Each buffer takes a second, so that the progress after each one is published. The second half is read only
        // when the progress has been seen, because a stream drops old values.
        let slow = FileSystemRecorder { call throws(SystemError) in
            guard case .readAt(let offset, _) = call else { return }
            clock.advance(by: .seconds(1))
            if offset >= cut { isSeen.wait() }
        }
        try await resume(over: slow.fileCalls, clock: clock) { download in
            var last: Int64 = 0
            for await progress in download.progress {
                guard let bytes = progress.bytesVerified else { continue }
                #expect(bytes > last && bytes <= file.size)
                last = bytes
                isSeen.open()
            }
            #expect(last > 0)
        }
    }

    @Test(arguments: [0, 1, 700_000, 1 << 20])
    func `the checksum of an existing file is computed`(_ size: Int64) async throws {
        try await withTemporaryDirectory { folder in
            let bytes = Pattern(seed: 3).bytes(in: 0..<size)
            let path = folder.appending(path: "x")
            try Data(bytes).write(to: path)
            let told = Locked<[Int64]>([])
            let found = try await Checksum.compute(.sha1, ofFileAt: path) { bytes, all in
                told.withLock { $0.append(bytes) }
                #expect(all == size)
            }
            #expect(try found == Checksum(.sha1, of: bytes))
            #expect(told.withLock { $0 }.last == (size == 0 ? nil : size))
            for missing in [folder, folder.appending(path: "gone")] {
                await #expect(throws: DownloadError.self) { try await Checksum.compute(.md5, ofFileAt: missing) }
            }
        }
    }
}
