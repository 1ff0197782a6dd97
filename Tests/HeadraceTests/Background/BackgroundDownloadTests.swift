import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A manager with a background session, with a fake daemon in place of Apple's.
@Suite(.timeLimit(.minutes(4)))
struct BackgroundDownloadTests {
    private let bytes = Pattern(seed: 9).bytes(in: 0..<5000)

    private func names(_ folder: URL) throws -> [String] { try FileProbe.names(in: folder).filter { $0 != "registry" } }

    @Test func `a file that the system downloaded is verified and renamed, and nothing else is left`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            let woken = Locked(0)
            try await daemon.withManager(folder) { manager in
                var request = try Daemon.request(in: folder)
                request.checksums = [try Checksum.of(bytes)]
                request.headers = [HeaderField(name: "user-agent", value: "mine")]
                let download = try await manager.download(request)
                try await daemon.runs(1)
                let fields = daemon.made[0].request.fields.map { $0.name.lowercased() }
                #expect(fields == ["accept-encoding", "user-agent"])
                daemon.transfers?.woken { woken.withLock { $0 += 1 } }
                try daemon.finish(0, bytes, in: folder)
                daemon.transfers?.reportedAll()
                let file = try await download.value
                #expect(file.lastPathComponent == "a.bin")
                #expect(try FileProbe.bytes(of: file) == bytes)
                while woken.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(2)) }
                #expect(await download.fileIsIntact)
                #expect(try names(folder) == ["a.bin"])
            }
            #expect(woken.withLock { $0 } == 1)
        }
    }

    @Test func `a file from the system with an unexpected size is rejected`() async throws {
        for difference: Int64 in [-1, 0, 1] {
            try await withTemporaryDirectory { folder in
                let daemon = Daemon()
                try await daemon.withManager(folder) { manager in
                    var request = try Daemon.request(in: folder)
                    request.expectedSize = Int64(bytes.count) + difference
                    let download = try await manager.download(request)
                    try await daemon.runs(1)
                    try daemon.finish(0, bytes, in: folder)
                    var code: DownloadError.Code?
                    do { _ = try await download.value } catch let error as DownloadError { code = error.code }
                    #expect(code == (difference == 0 ? nil : .checksum))
                    #expect(try names(folder) == (difference == 0 ? ["a.bin"] : []))
                }
            }
        }
    }

    /// Regression: the file was discarded and downloaded again endlessly.
    @Test func `a file from the system is accepted if resuming is off or the boot ID is unknown`() async throws {
        for (resumes, boot) in [(false, "8f5b"), (true, "")] {
            try await withTemporaryDirectory { folder in
                let daemon = Daemon()
                var files = FileSystem.system
                files.bootID = { () throws(SystemError) in boot }
                try await daemon.withManager(folder, files: files) {
                    $0.resumesPartialDownloads = resumes
                } _: { manager in
                    let download = try await manager.download(Daemon.request(in: folder))
                    try await daemon.runs(1)
                    try daemon.finish(0, bytes, in: folder)
                    #expect(try FileProbe.bytes(of: try await download.value) == bytes)
                    #expect(await Daemon.restarts(of: download) == [])
                }
            }
        }
    }

    @Test func `a task continues without a manager, and the next manager takes its file`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
            }
            #expect(!daemon.made[0].isCancelled)
            try await daemon.withManager(folder) { manager in
                let download = try #require(await manager.downloads.first)
                try daemon.finish(0, bytes, in: folder)
                #expect(try FileProbe.bytes(of: try await download.value) == bytes)
                #expect(await Daemon.restarts(of: download) == [])
            }
            #expect(daemon.made.count == 1, "nothing was asked for twice")
        }
    }

    @Test func `a file that arrives after the shutdown is saved and named by the next manager`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
            }
            try daemon.finish(0, bytes, in: folder)
            try await daemon.withManager(folder) { manager in
                let download = try #require(await manager.downloads.first)
                #expect(try FileProbe.bytes(of: try await download.value) == bytes)
            }
            #expect(daemon.made.count == 1)
            #expect(try names(folder) == ["a.bin"])
        }
    }

    /// Regression: the download continued with the old URL.
    @Test(arguments: [false, true])
    func `resume data that arrives after the URL was replaced is not used`(_ isOfEnd: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                let download = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                async let pause: Void = download.pause()
                while !daemon.made[0].isCancelled { await Task.yield() }
                let url = try #require(URL(string: "https://example.org/other.bin"))
                try await download.setURL(url)
                if isOfEnd {
                    try daemon.end(0, code: -999, resumeData: [7])
                    daemon.publish([7], ofTask: 0)
                } else {
                    daemon.publish([7], ofTask: 0)
                    try daemon.end(0, code: -999, resumeData: nil)
                }
                await pause
                await download.resume()
                try await daemon.runs(2)
                #expect(daemon.made[1].request.url == url)
                #expect(daemon.made[1].resumeData == nil)
                try daemon.finish(1, bytes, in: folder)
                _ = try await download.value
            }
        }
    }

    @Test func `resume data from a pause or a failure is saved and used by the next manager`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder, configure: { $0.retryPolicy.maxFailures = 0 }) { manager in
                let paused = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                async let pause: Void = paused.pause()
                while !daemon.made[0].isCancelled { try await Task.sleep(for: .milliseconds(2)) }
                daemon.transfers?.wrote(try daemon.task(0), receivedBytes: 20, totalBytes: nil)
                try daemon.end(0, code: -999, resumeData: [7, 7])
                await pause
                let failed = try await manager.download(Daemon.request(in: folder, "b.bin"))
                try await daemon.runs(2)
                try daemon.end(1, code: -1005, resumeData: [8])
                await #expect(throws: DownloadError.self) { try await failed.value }
                guard case .failed(let error) = failed.state else { return }
                #expect(error.code == .connectionLost)
            }
            try await daemon.withManager(folder) { manager in
                let downloads = await manager.downloads
                #expect(downloads.map(\.state.kind) == [.paused, .failed])
                for download in downloads { await download.resume() }
                try await daemon.runs(4)
                #expect(
                    daemon.made.suffix(2).compactMap(\.resumeData).sorted { $0.count > $1.count } == [[7, 7], [8]]
                )
                try daemon.finish(2, bytes, in: folder)
                try daemon.finish(3, bytes, in: folder)
                for download in downloads { #expect(try FileProbe.bytes(of: try await download.value) == bytes) }
            }
        }
    }

    @Test func `a download that the system lost restarts and reports it`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
            }
            daemon.cancel(0)
            try await daemon.withManager(folder) { manager in
                let download = try #require(await manager.downloads.first)
                try await daemon.runs(2)
                try daemon.finish(1, bytes, in: folder)
                #expect(await Daemon.restarts(of: download) == [.taskLost])
            }
        }
    }

    @Test func `a file purged before it was taken over is downloaded again`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                let download = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                let head = ResponseHead(url: download.request.url, status: 200)
                daemon.transfers?.finished(try daemon.task(0), file: folder.path + "/gone.tmp", head: head)
                try await daemon.runs(2)
                try daemon.finish(1, bytes, in: folder)
                #expect(await Daemon.restarts(of: download) == [.filePurged])
            }
        }
    }

    @Test func `an error page or a truncated file never gets the final name`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                let page = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                try daemon.finish(0, Array("<html>".utf8), status: 403, in: folder)
                let error = await #expect(throws: DownloadError.self) { try await page.value }
                #expect(error?.statusCode == 403)
                let cut = try await manager.download(Daemon.request(in: folder, "b.bin"))
                try await daemon.runs(2)
                try daemon.finish(1, bytes.dropLast(), [("Content-Length", "\(bytes.count)")], in: folder)
                // The download is retried.
                try await daemon.runs(3)
                try daemon.finish(2, bytes, in: folder)
                #expect(try FileProbe.bytes(of: try await cut.value) == bytes)
                #expect(try names(folder) == ["b.bin"])
            }
        }
    }

    @Test func `a file that fails its checksum is downloaded again once and then fails`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                var request = try Daemon.request(in: folder)
                request.checksums = [try Checksum.of(bytes)]
                let download = try await manager.download(request)
                for number in 0..<2 {
                    try await daemon.runs(number + 1)
                    try daemon.finish(number, bytes.reversed(), in: folder)
                }
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.code == .checksum)
                #expect(try names(folder) == ["a.bin.mismatch"])
            }
        }
    }

    @Test func `a file on another volume is copied and replaces an earlier partial file`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            var files = FileSystem.system
            files.replace = { path, newPath throws(SystemError) in
                if path.contains("CFNetwork") { throw SystemError(errno: EXDEV) }
                try FileSystem.system.replace(path, newPath)
            }
            let partial = URL(filePath: DestinationPaths(try Daemon.request(in: folder)).partialPath)
            try Data("old".utf8).write(to: partial)
            try await daemon.withManager(folder, files: files) { manager in
                let download = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                try daemon.finish(0, bytes, in: folder)
                #expect(try FileProbe.bytes(of: try await download.value) == bytes)
                #expect(try names(folder) == ["a.bin"])
            }
        }
    }

    @Test(arguments: [".copy", ReservedFileNames.newSuffix])
    func `a file that cannot be taken from another volume costs no bytes of an earlier partial file`(
        _ full: String
    ) async throws {
        try await withTemporaryDirectory { folder in
            let request = try Daemon.request(in: folder)
            let path = DestinationPaths(request).partialPath
            let recorder = FileSystemRecorder(
                to: .system,
                withPaths: { call, path throws(SystemError) in
                    if case .write = call, path.hasSuffix(full) { throw SystemError(errno: ENOSPC) }
                }
            )
            var files = recorder.fileCalls
            let status = files.status
            files.status = { path throws(SystemError) in
                var status = try status(path)
                if path.contains("CFNetwork") { status?.device = 0 }
                return status
            }
            files.replace = { path, newPath throws(SystemError) in
                if path.contains("CFNetwork") { throw SystemError(errno: EXDEV) }
                try FileSystem.system.replace(path, newPath)
            }
            let record = URL(filePath: path + RecordFile.suffix)
            try Data("old".utf8).write(to: URL(filePath: path))
            try Data("old record".utf8).write(to: record)
            let system = files
            #expect(throws: DownloadError.self) {
                let file = folder.appending(path: "CFNetworkDownload.tmp")
                try Data(bytes).write(to: file)
                let length = HeaderField(name: "Content-Length", value: "\(bytes.count)")
                _ = try DeliveredFile(
                    takingOver: file.path,
                    ResponseHead(url: request.url, status: 200, fields: [length]),
                    for: DownloadRecord(id: .random(), request: request),
                    DownloadConfiguration(),
                    system
                )
            }
            #expect(try FileProbe.bytes(of: record) == Array("old record".utf8))
            #expect(try FileProbe.bytes(of: URL(filePath: path)) == Array("old".utf8))
            #expect(FileProbe.size(of: URL(filePath: path + ".copy")) == nil)
        }
    }

    @Test func `cancelling a download stops its task and discards its file`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                let download = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                await download.cancel()
                #expect(daemon.made[0].isCancelled)
                try daemon.finish(0, bytes, in: folder)
                #expect(try names(folder) == [])
            }
        }
    }

    @Test(arguments: [true, false])
    func `pausing or removing a download that waits for a slot stops its task`(_ isPaused: Bool) async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder) { manager in
                try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
            }
            try await daemon.withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let download = try #require(await manager.downloads.first)
                #expect(!daemon.made[0].isCancelled)
                if isPaused { await download.pause() } else { await download.remove() }
                #expect(daemon.made[0].isCancelled)
            }
        }
    }

    @Test func `unsupported settings are reported, and secrets are not passed to the session`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            try await daemon.withManager(folder, configure: { $0.rateLimit = 1000 }) { manager in
                let download = try await manager.download(Daemon.request(in: folder))
                try await daemon.runs(1)
                try daemon.finish(0, bytes, in: folder)
                var notices: [DownloadEvent.Notice] = []
                for await event in download.events { if case .notice(let notice) = event { notices.append(notice) } }
                #expect(notices == [.unsupportedInBackground(.rateLimits)])
                var request = try Daemon.request(in: folder, "b.bin")
                request.headers = [HeaderField(name: "X-Key", value: "secret", isSecret: true)]
                let refused = try await manager.download(request)
                let error = await #expect(throws: DownloadError.self) { try await refused.value }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains("X-Key") == true)
                #expect(error?.message.contains("secret") == false)
                request = try Daemon.request(in: folder, "c.bin")
                request.requiresPublicAddress = true
                let unchecked = try await manager.download(request)
                await #expect(throws: DownloadError.self) { try await unchecked.value }
                #expect(unchecked.error?.code == .invalidRequest)
                #expect(daemon.made.count == 1)
            }
        }
    }

    @Test func `a second manager of a session is rejected until the first is shut down`() async throws {
        try await withTemporaryDirectory { folder in
            let daemon = Daemon()
            let second = folder.appending(path: "second", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: second, withIntermediateDirectories: false)
            try await daemon.withManager(folder) { _ in
                let error = await #expect(throws: DownloadError.self) { try await daemon.withManager(second) { _ in } }
                #expect(error?.code == .busy)
                #expect(error?.message.contains("\"session\"") == true)
            }
            try await daemon.withManager(second) { _ in }
        }
    }

    @Test func `a wake before the manager exists is delivered to it once`() {
        var claims = BackgroundClaims()
        let called = Locked(0)
        claims.woken("a") { called.withLock { $0 += 1 } }
        #expect(claims.takeWakes(of: "b").isEmpty)
        for wake in claims.takeWakes(of: "a") + claims.takeWakes(of: "a") { wake() }
        #expect(called.withLock { $0 } == 1)
    }
}

extension Checksum {
    fileprivate static func of(_ bytes: [UInt8]) throws -> Checksum {
        let digest = try Digester(.sha256)
        bytes.withUnsafeBytes { digest.update($0) }
        return try digest.finalize()
    }
}
