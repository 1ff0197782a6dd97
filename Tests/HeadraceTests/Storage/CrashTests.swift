import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Crashes between any two changes of a disk: a second run ends with the exact file, whatever was lost.
@Suite(.timeLimit(.minutes(4)))
struct CrashTests {
    private static let size = 8000
    private static let expected = Array(DiskFixture.bytes.prefix(size))
    private let final = "/folder/file.bin"

    private func destination() -> DownloadRequest.Destination { .file(URL(filePath: final)) }

    private func partialPath() throws -> String {
        DestinationNames(try DiskFixture.request(to: destination())).partialPath
    }

    /// One download on a disk, with a cut and a record every three chunks.
    private func run(
        on disk: MemoryDisk,
        _ durability: DownloadManager.Configuration.Durability = .full
    ) async throws -> DiskOutcome {
        let transport = FakeTransport(chunkBytes: 1000) { DiskFixture.answer($0, sending: 3000, of: Self.size) }
        let environment = TransferEnvironment(
            configuration: DownloadManager.Configuration {
                $0.maxRetries = 3
                $0.retryBaseDelay = .zero
                $0.durability = durability
            },
            transport: transport,
            files: disk.calls,
            clock: ClockWitness(TestClock())
        )
        // Without a manager and its threads, of which a crash test would need hundreds.
        let record = DownloadRecord(
            id: Download.ID(rawValue: 1),
            request: try DiskFixture.request(to: destination(), .overwrite)
        )
        var attempts: Attempts?
        var outcome: TransferOutcome
        repeat {
            let transfer = DownloadTransfer(record, StopSignal(), after: attempts, in: environment)
            outcome = await TransferOutcome(of: transfer)
            attempts = if case .retry(let attempts, _) = outcome { attempts } else { nil }
        } while attempts != nil
        var failure: DownloadError?
        if case .failed(let error) = outcome { failure = error }
        let starts = transport.requests.map { Int64(DiskFixture.start(of: $0)) }
        return DiskOutcome(error: failure, starts: starts, events: [])
    }

    /// The ranges that a second run would believe, all of which have to be right.
    private func claims(on disk: MemoryDisk, bootID: String) throws -> ByteRangeSet {
        let path = try partialPath()
        guard let status = try disk.calls.status(path),
            case .record(let record) = try RecordFile(of: path, calls: disk.calls).read()
        else { return ByteRangeSet() }
        return record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
    }

    /// Stops after each change, and looks at what is left and at what a second run makes of it.
    private func crashEverywhere(_ crash: Crash, _ durability: DownloadManager.Configuration.Durability) async throws {
        let first = MemoryDisk()
        #expect(try await run(on: first, durability).error == nil)
        let changes = first.changes
        let bootID = crash == .kill ? "first" : "second"
        var resumed = 0
        for count in 0...changes.count {
            let image = crash.image(after: changes.prefix(count), seed: UInt64(count))
            let disk = MemoryDisk(image, bootID: bootID)
            let held = disk.image.bytes(of: try partialPath()) ?? []
            for range in try claims(on: disk, bootID: bootID).ranges {
                let range = Int(range.lowerBound)..<Int(range.upperBound)
                let isTrue = held[range] == Self.expected[range]
                #expect(isTrue, "\(crash) after \(count) changes: \(range) is claimed and wrong")
            }
            // With the last change, or a moment before, the user may have been told that the file is there.
            let isWhole = disk.image.bytes(of: final).map { $0 == Self.expected }
            if crash == .kill || durability == .full {
                #expect(isWhole != false, "\(crash) after \(count) changes: a final name without its bytes")
                if count == changes.count { #expect(isWhole == true) }
            }
            let outcome = try await run(on: disk, durability)
            #expect(outcome.error == nil)
            if outcome.starts.first.map({ $0 > 0 }) == true { resumed += 1 }
            let isExact = disk.image.bytes(of: final) == Self.expected
            #expect(isExact, "\(crash) after \(count) changes")
            #expect(disk.image.names.keys.sorted() == [final], "\(crash) after \(count) changes")
        }
        #expect(resumed > 0 || durability == .none)
    }

    @Test(arguments: Crash.allCases)
    func `X02 X03 X04 after a crash at any change a second run has the exact file`(_ crash: Crash) async throws {
        try await crashEverywhere(crash, .full)
    }

    @Test func `X01 without syncs, a kill at any change costs nothing that was recorded`() async throws {
        try await crashEverywhere(.kill, .none)
    }

    @Test func `X07 fifty crashes in a row leave nothing but the partial and its record`() async throws {
        var image = DiskImage()
        for round in 0..<50 {
            let disk = MemoryDisk(image, bootID: "\(round)")
            // Each run is cut by its server, and then stopped at another change each time.
            _ = try await DiskFixture.run(to: destination(), files: disk.calls) {
                DiskFixture.answer($0, sending: 100, of: Self.size)
            }
            let before = image
            image = replay(disk.changes.dropLast(round % 5), on: before)
            #expect(image.names.count <= 3)
        }
        let disk = MemoryDisk(image, bootID: "last")
        #expect(try await run(on: disk).error == nil)
        #expect(disk.image.names.keys.sorted() == [final])
        let isExact = disk.image.bytes(of: final) == Self.expected
        #expect(isExact)
    }

    private func replay(_ changes: some Sequence<DiskChange>, on image: DiskImage) -> DiskImage {
        var image = image
        for change in changes { image.apply(change) }
        return image
    }
}
