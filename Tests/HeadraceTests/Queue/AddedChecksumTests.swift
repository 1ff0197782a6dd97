import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Requests that add checksums to a download that is already queued.
@Suite(.timeLimit(.minutes(4)))
struct AddedChecksumTests {
    private static let bytes = Array("hello".utf8)
    private static let url = URL(string: "http://127.0.0.1:1/file.bin")

    private static func right(_ algorithm: Checksum.Algorithm = .sha256) throws -> Checksum {
        try Checksum(algorithm, of: bytes)
    }

    private static func wrong(_ algorithm: Checksum.Algorithm = .sha256) throws -> Checksum {
        try Checksum(algorithm, of: [1])
    }

    private static func request(
        _ folder: URL,
        _ url: URL? = url,
        _ checksums: [Checksum] = []
    ) throws -> DownloadRequest {
        var request = DownloadRequest(try #require(url), to: .file(folder.appending(path: "file.bin")))
        request.checksums = checksums
        request.mismatchPolicy = .delete
        return request
    }

    private static func configuration(_ folder: URL) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
            $0.startsDownloads = false
        }
    }

    private static func contradiction(_ body: () async throws -> Void) async throws {
        let error = try #require(await #expect(throws: DownloadError.self) { try await body() })
        #expect(error.code == .invalidRequest)
        for checksum in [try right(), try wrong()] { #expect(error.message.contains(checksum.hexadecimal)) }
    }

    /// The later request arrives while the download is paused, or while it runs.
    @Test(arguments: [true, false], [true, false])
    func `a download is verified against a checksum that a later request adds`(
        _ isPaused: Bool,
        _ isRight: Bool
    ) async throws {
        let gate = try Gate()
        try await withFaultServer(.ok(.bytes(Self.bytes)).held(after: 2, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    var request = try Self.request(folder, server.url("/file.bin"), [try Self.right(.sha1)])
                    request.startsPaused = isPaused
                    let download = try await manager.download(request)
                    if !isPaused {
                        for await event in download.events { if case .responded = event { break } }
                    }
                    request.checksums = [isRight ? try Self.right() : try Self.wrong()]
                    #expect(try await manager.download(request) == download)
                    let both = [try Self.right(.sha1)] + request.checksums
                    #expect(download.request.checksums == both)
                    gate.open()
                    await download.resume()
                    var events: [DownloadEvent] = []
                    for await event in download.events { events.append(event) }
                    let verified = DownloadEvent.verified(try Self.right())
                    #expect(events.contains(verified) == isRight)
                    #expect(try FileProbe.names(in: folder) == (isRight ? ["file.bin"] : []))
                    guard case .failed(let error) = download.state else { return #expect(isRight) }
                    #expect(error.code == .checksum && !isRight)
                }
            }
        }
    }

    @Test func `a different checksum for the same algorithm rejects the whole batch`() async throws {
        try await withTemporaryDirectory { folder in
            var configuration = Self.configuration(folder)
            configuration.registryDirectory = nil
            try await withDownloadManager(configuration) { manager in
                let first = try await manager.download(try Self.request(folder, Self.url, [try Self.right()]))
                let other = DownloadRequest(try #require(Self.url), to: .file(folder.appending(path: "other.bin")))
                let second = try Self.request(folder, Self.url, [try Self.wrong()])
                let kept = [try Self.right()]
                try await Self.contradiction { try await manager.download([other, second]) }
                #expect(await manager.downloads == [first])
                #expect(first.request.checksums == kept)
                // If one request of a batch is rejected, the requests before it are not applied either.
                let told = try Self.request(folder, Self.url, [try Self.right(.sha1)])
                try await Self.contradiction { try await manager.download([told, second]) }
                #expect(first.request.checksums == kept)
                // Two requests of one batch may contradict each other as well.
                var third = second
                third.destination = other.destination
                try await Self.contradiction { [third] in
                    var fourth = third
                    fourth.checksums = [try Self.right()]
                    try await manager.download([third, fourth])
                }
                #expect(await manager.downloads == [first])
                // Adding equal checksums changes nothing.
                let same = try Self.request(folder, Self.url, kept)
                #expect(try await manager.download(same) == first)
                #expect(first.request.checksums == kept)
            }
        }
    }

    @Test(arguments: [true, false])
    func `checksums added later are stored for the next run, also for a request with secrets`(
        _ hasSecret: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: try #require(Self.configuration(folder).registryDirectory))
            var request = try Self.request(folder)
            if hasSecret { request.headers = [HeaderField(name: "Authorization", value: "secret")] }
            let ids = try await registry.add([request]).ids
            let all = [Checksum.Algorithm.md5, .sha1, .sha256]
            // MD5 is added without a manager, SHA-1 by the registry's manager, and SHA-256 by a command to that manager.
            for algorithm in all {
                request.checksums = [try Self.right(algorithm)]
                switch algorithm {
                case .md5: #expect(try await registry.add([request]).ids == ids)
                case .sha1:
                    try await withDownloadManager(Self.configuration(folder)) { manager in
                        let download = try await manager.download(request)
                        #expect(download.id == ids[0])
                    }
                default:
                    try await withDownloadManager(Self.configuration(folder)) { manager in
                        let posting = RegistryRequest(request, bases: RegistryBaseDirectories(of: registry.directory))
                        let entry = RegistryEntry(id: ids[0].rawValue, posting, label: 0)
                        _ = try CommandSpool(in: registry.directory.filePath).post(.add([entry]))
                        try await manager.takeCommands()
                    }
                }
            }
            let list = try await registry.downloads()
            #expect(list.map(\.id) == ids)
            let expected = try all.map(Self.right)
            #expect(list.first?.request.checksums == expected)
        }
    }

    /// Posts requests as another process would, and lets the manager apply them.
    private static func post(
        _ requests: [DownloadRequest],
        as id: Download.ID,
        to manager: DownloadManager,
        in folder: URL
    ) async throws {
        let directory = try #require(configuration(folder).registryDirectory)
        let entries = requests.enumerated().map { index, request in
            let posting = RegistryRequest(request, bases: RegistryBaseDirectories(of: directory))
            return RegistryEntry(id: index == 0 ? id.rawValue : Download.ID.random().rawValue, posting, label: 0)
        }
        _ = try CommandSpool(in: directory.filePath).post(.add(entries))
        try await manager.takeCommands()
    }

    @Test func `contradicting additions of another process are reported, and the others are added`() async throws {
        try await withTemporaryDirectory { folder in
            try await withDownloadManager(Self.configuration(folder)) { manager in
                let events = manager.events
                let first = try await manager.download(try Self.request(folder, Self.url, [try Self.right()]))
                let other = DownloadRequest(try #require(Self.url), to: .file(folder.appending(path: "other.bin")))
                let contradiction = try Self.request(folder, Self.url, [try Self.wrong()])
                try await Self.post([contradiction, other], as: first.id, to: manager, in: folder)
                let downloads = await manager.downloads
                #expect(downloads.count == 2)
                #expect(downloads.first == first)
                let kept = [try Self.right()]
                #expect(first.request.checksums == kept)
                await manager.shutdown()
                let value = try Self.wrong().hexadecimal
                var isAdvertised = false
                for await event in events {
                    if case .registryDamaged(let finding) = event, finding.contains(value) { isAdvertised = true }
                }
                #expect(isAdvertised)
            }
        }
    }

    /// As another release may post it.
    @Test func `an invalid addition of another process is reported, and the others are added`() async throws {
        try await withTemporaryDirectory { folder in
            try await withDownloadManager(Self.configuration(folder)) { manager in
                let events = manager.events
                let request = DownloadRequest(try #require(Self.url), to: .file(folder.appending(path: "a.bin")))
                var invalid = DownloadRequest(try #require(Self.url), to: .file(folder.appending(path: "b.bin")))
                invalid.method = "TRACE"
                try await Self.post([invalid, request], as: .random(), to: manager, in: folder)
                #expect(await manager.downloads.map(\.request.destination) == [request.destination])
                await manager.shutdown()
                let findings = await events.reduce(into: [String]()) { findings, event in
                    if case .registryDamaged(let finding) = event { findings.append(finding) }
                }
                let message = "An addition by another process was skipped: TRACE is no method for downloads."
                #expect(findings == [message])
            }
        }
    }

    @Test func `a checksum for a file that has finished meanwhile adds a new download`() async throws {
        try await withFaultServer(.ok(.bytes(Self.bytes))) { server in
            try await withTemporaryDirectory { folder in
                var configuration = Self.configuration(folder)
                configuration.startsDownloads = true
                try await withDownloadManager(configuration) { manager in
                    var request = try Self.request(folder, server.url("/file.bin"))
                    let first = try await manager.download(request)
                    _ = try await first.value
                    request.checksums = [try Self.right()]
                    request.refetchPolicy = .ifChanged
                    try await Self.post([request], as: first.id, to: manager, in: folder)
                    #expect(await manager.downloads.count == 2)
                    let second = try #require(await manager.downloads.last)
                    #expect(second.request.checksums == request.checksums)
                    _ = try await second.value
                    #expect(server.requests.count == 1)
                }
            }
        }
    }

    @Test func `a registry rejects a different checksum for the same algorithm`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: try #require(Self.configuration(folder).registryDirectory))
            try await registry.add([try Self.request(folder, Self.url, [try Self.right()])])
            try await Self.contradiction {
                try await registry.add([try Self.request(folder, Self.url, [try Self.wrong()])])
            }
            let kept = [try Self.right()]
            #expect(try await registry.downloads().map(\.request.checksums) == [kept])
        }
    }

    /// Otherwise the file would get its final name without being compared with the new checksum.
    @Test func `a file about to be renamed adopts no more checksums`() throws {
        let request = try Self.request(URL(filePath: "/tmp"))
        var later = request
        later.checksums = [try Self.right()]
        let record = DownloadRecord(id: .random(), request: request)
        #expect(try record.takeExpectations(of: later))
        // The file was verified against the request's expectations, which lack the checksum added since.
        #expect(!record.seal(after: request.expectations))
        later.checksums.append(try Self.right(.sha1))
        #expect(try record.takeExpectations(of: later))
        #expect(record.seal(after: record.request.expectations))
        #expect(try !record.takeExpectations(of: later))
        later.checksums.append(try Self.right(.md5))
        #expect(throws: DownloadError.self) { try record.takeExpectations(of: later) }
        record.unseal()
        #expect(try record.takeExpectations(of: later))
    }
}
