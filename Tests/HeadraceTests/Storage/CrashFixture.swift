import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The volume of a directory for partial files.
enum PartialsVolume: CaseIterable {
    /// The volume of the destination.
    case same
    case other
}

/// A download on an in-memory disk that is stopped after each disk change and resumed.
struct CrashFixture {
    static let final = "/folder/file.bin"
    private static let partials = "/partials"
    static let destination = DownloadRequest.Destination.file(URL(filePath: final))

    let expected: [UInt8]
    /// The bytes of the partial file, if the download decodes them at the end; else `nil`.
    private let encoded: [UInt8]?
    private let chunkBytes: Int
    private let connections: Int
    /// The volume of a directory for partial files; `nil` if they are beside the destination.
    private let partials: PartialsVolume?
    /// Returns the reply to a request, given its number.
    private let response: @Sendable (Int, TransportRequest) throws -> FakeTransport.Reply

    init(
        size: Int,
        chunkBytes: Int,
        connections: Int,
        encoded: [UInt8]? = nil,
        partials: PartialsVolume? = nil,
        response: @escaping @Sendable (Int, TransportRequest) throws -> FakeTransport.Reply
    ) {
        expected = Array(DiskFixture.bytes.prefix(size))
        self.chunkBytes = chunkBytes
        self.connections = connections
        self.encoded = encoded
        self.partials = partials
        self.response = response
    }

    private func request() throws -> DownloadRequest {
        var request = try DiskFixture.request(to: Self.destination, .overwrite)
        request.decodesContent = encoded != nil
        return request
    }

    private var partialsDirectory: URL? { partials.map { _ in URL(filePath: Self.partials) } }

    private func partialPath() throws -> String {
        DestinationPaths(try request()).partialPath(in: partialsDirectory)
    }

    /// Runs the download from its first request to its end.
    func run(
        on disk: MemoryDisk,
        _ durability: DownloadConfiguration.Durability = .full
    ) async throws -> DiskOutcome {
        let transport = FakeTransport(chunkBytes: chunkBytes, numbered: response)
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration {
                $0.retryPolicy.maxFailures = 3
                $0.retryPolicy.baseDelay = .zero
                $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                $0.durability = durability
                $0.maxConnectionsPerDownload = connections
                $0.partialsDirectory = partialsDirectory
            },
            transport: transport,
            files: partials == .other ? disk.calls.divided(at: Self.partials) : disk.calls,
            clock: AnyClock(TestClock())
        )
        // No manager, because its threads would slow down the hundreds of runs of a crash test.
        let record = DownloadRecord(
            id: Download.ID(rawValue: 1),
            request: try request()
        )
        var attempts: TransferState?
        var outcome: TransferOutcome
        repeat {
            var transfer = DownloadTransfer(record, StopSignal(), after: attempts, in: environment)
            outcome = await transfer.runWithinTimeLimit()
            attempts = if case .retry(let attempts, _) = outcome { attempts } else { nil }
        } while attempts != nil
        var failure: DownloadError?
        if case .failed(let error) = outcome { failure = error }
        let starts = transport.requests.map { Int64(DiskFixture.start(of: $0)) }
        return DiskOutcome(error: failure, starts: starts, events: [])
    }

    /// The ranges that a second run would trust; all of them must be correct.
    func claims(on disk: MemoryDisk, bootID: String) throws -> ByteRangeSet {
        let path = try partialPath()
        guard let status = try disk.calls.status(path),
            case .record(let record) = try RecordFile(of: path, calls: SharedFileSystem(disk.calls)).read()
        else { return ByteRangeSet() }
        return record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
    }

    /// The disk changes of a run without a crash; with several connections, of a run in which a record contains
    /// separate ranges, which depends on their random speeds.
    private func changes(_ durability: DownloadConfiguration.Durability) async throws -> [DiskChange] {
        for _ in 0..<100 {
            let disk = MemoryDisk()
            #expect(try await run(on: disk, durability).error == nil)
            guard connections > 1 else { return disk.changes }
            for count in 0...disk.changes.count {
                let image = Crash.kill.image(after: disk.changes.prefix(count), seed: 0)
                let claims = try claims(on: MemoryDisk(image, bootID: "first"), bootID: "first")
                if claims.ranges.count > 1 { return disk.changes }
            }
        }
        Issue.record("no run had parts that lie apart")
        return []
    }

    func isExpected(_ bytes: [UInt8]) -> Bool {
        bytes.count == expected.count && Self.isEqual(bytes, expected, bytes.indices)
    }

    /// Uses `memcmp`, because comparing arrays is a hundred times slower in a debug build.
    private static func isEqual(_ bytes: [UInt8], _ others: [UInt8], _ range: Range<Int>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            others.withUnsafeBytes { others in
                guard let start = bytes.baseAddress, let other = others.baseAddress else { return range.isEmpty }
                return memcmp(start + range.lowerBound, other + range.lowerBound, range.count) == 0
            }
        }
    }

    /// Stops after each change and checks both the remaining files and the result of a second run.
    ///
    /// With `resumes`, at least one second run must resume.
    func crashEverywhere(
        _ crash: Crash,
        _ durability: DownloadConfiguration.Durability,
        resumes: Bool = true
    ) async throws {
        let changes = try await changes(durability)
        let bootID = crash == .kill ? "first" : "second"
        var resumed = 0
        for count in 0...changes.count {
            let image = crash.image(after: changes.prefix(count), seed: UInt64(count))
            let disk = MemoryDisk(image, bootID: bootID)
            let held = disk.image.bytes(of: try partialPath()) ?? []
            let claims = try claims(on: disk, bootID: bootID)
            for range in claims.ranges {
                let range = Int(range.lowerBound)..<Int(range.upperBound)
                let isTrue = held.count >= range.upperBound && Self.isEqual(held, encoded ?? expected, range)
                #expect(isTrue, "\(crash) after \(count) changes: \(range) is claimed and wrong")
            }
            // At the last change or just before it, the file may already have been reported as complete.
            let isWhole = disk.image.bytes(of: Self.final).map(isExpected)
            if crash == .kill || durability == .full {
                #expect(isWhole != false, "\(crash) after \(count) changes: a final name without its bytes")
                if count == changes.count { #expect(isWhole == true) }
            }
            let outcome = try await run(on: disk, durability)
            #expect(outcome.error == nil)
            if outcome.starts.first.map({ $0 > 0 }) == true { resumed += 1 }
            let isExact = disk.image.bytes(of: Self.final).map(isExpected) ?? false
            #expect(isExact, "\(crash) after \(count) changes")
            #expect(disk.image.names.keys.sorted() == [Self.final], "\(crash) after \(count) changes")
        }
        #expect(resumed > 0 || durability == .none || !resumes)
    }
}
