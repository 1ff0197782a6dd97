import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Crashes between any two disk changes: a second run ends with the exact file, whatever was lost.
@Suite(.timeLimit(.minutes(4)), .computing)
struct CrashTests {
    private static let size = 8000
    /// One download that is cut off every three chunks, with a record each time.
    private let stream = CrashFixture(size: size, chunkBytes: 1000, connections: 1) { _, request in
        DiskFixture.response(request, sending: 3000, of: size)
    }

    /// One download over four connections that are cut off and sometimes refused together.
    private let parts = CrashFixture(size: 2_200_000, chunkBytes: 100_000, connections: 4) { index, request in
        guard index % 8 < 5 else { throw DownloadError(.connectionLost, "Cut.") }
        return DiskFixture.response(request, sending: 300_000, of: 2_200_000)
    }

    /// The same for a file that is decoded.
    private let decoded = CrashFixture(size: size, chunkBytes: 1000, connections: 1, encoded: encoded) { _, request in
        FaultScenario.serve(encoded, to: request, sending: 3000, coding: "gzip")
    }
    private static let encoded = EncodedFile.gzip(Array(DiskFixture.bytes.prefix(size)))

    @Test(arguments: Crash.allCases)
    func `X02 X03 X04 after a crash at any change a second run has the exact file`(_ crash: Crash) async throws {
        try await stream.crashEverywhere(crash, .full)
    }

    @Test func `X01 without syncs, a kill at any change loses no recorded bytes`() async throws {
        try await stream.crashEverywhere(.kill, .none)
    }

    @Test(arguments: Crash.allCases)
    func `X01 without syncs, a crash of a resumed run loses no bytes that an earlier run has synced`(
        _ crash: Crash
    ) async throws {
        let disk = MemoryDisk()
        var synced = 0
        for _ in 0..<2 {
            synced = disk.changes.count
            let run = try await DiskFixture.run(
                to: CrashFixture.destination,
                files: disk.calls,
                durability: .none,
                chunkBytes: 1000
            ) {
                DiskFixture.response($0, sending: 1000, of: Self.size)
            }
            #expect(run.error?.code == .connectionLost)
        }
        for count in synced...disk.changes.count {
            let image = crash.image(after: disk.changes.prefix(count), seed: UInt64(count))
            let claims = try stream.claims(on: MemoryDisk(image, bootID: "second"), bootID: "second")
            #expect(claims.contains(0..<1000), "\(crash) after \(count) changes: \(claims)")
        }
    }

    @Test(
        .enabled(if: ContentCoding.decodable.contains(.gzip), "zlib is missing"),
        arguments: Crash.allCases
    )
    func `X02 X03 X04 after a crash of a decoding download a second run has the exact file`(
        _ crash: Crash
    ) async throws {
        try await decoded.crashEverywhere(crash, .full)
        if crash == .kill { try await decoded.crashEverywhere(.kill, .none) }
    }

    @Test(arguments: Crash.allCases, PartialsVolume.allCases)
    func `X02 X03 X04 after a crash with a directory for partial files a second run has the exact file`(
        _ crash: Crash,
        _ volume: PartialsVolume
    ) async throws {
        let stream = CrashFixture(size: Self.size, chunkBytes: 1000, connections: 1, partials: volume) { _, request in
            DiskFixture.response(request, sending: 3000, of: Self.size)
        }
        try await stream.crashEverywhere(crash, .full)
        if crash == .kill { try await stream.crashEverywhere(.kill, .none) }
    }

    @Test(.enabled(if: ContentCoding.decodable.contains(.gzip), "zlib is missing"), arguments: Crash.allCases)
    func `X02 X03 X04 a file of another volume is decoded into its destination`(_ crash: Crash) async throws {
        let decoded = CrashFixture(
            size: Self.size,
            chunkBytes: 1000,
            connections: 1,
            encoded: Self.encoded,
            partials: .other
        ) { _, request in
            FaultScenario.serve(Self.encoded, to: request, sending: 3000, coding: "gzip")
        }
        try await decoded.crashEverywhere(crash, .full)
    }

    @Test(arguments: Crash.allCases)
    func `X01 X02 X03 X04 after a crash with several connections a second run has the exact file`(
        _ crash: Crash
    ) async throws {
        try await parts.crashEverywhere(crash, .full)
    }

    @Test func `X07 fifty crashes in a row leave only the partial file and its record`() async throws {
        var image = DiskImage()
        for round in 0..<50 {
            let disk = MemoryDisk(image, bootID: "\(round)")
            // Each run is cut off by its server and then stopped at a different change.
            _ = try await DiskFixture.run(to: CrashFixture.destination, files: disk.calls) {
                DiskFixture.response($0, sending: 100, of: Self.size)
            }
            let before = image
            image = replay(disk.changes.dropLast(round % 5), on: before)
            #expect(image.names.count <= 3)
        }
        let disk = MemoryDisk(image, bootID: "last")
        #expect(try await stream.run(on: disk).error == nil)
        #expect(disk.image.names.keys.sorted() == [CrashFixture.final])
        #expect(disk.image.bytes(of: CrashFixture.final) == stream.expected)
    }

    private func replay(_ changes: some Sequence<DiskChange>, on image: DiskImage) -> DiskImage {
        var image = image
        for change in changes { image.apply(change) }
        return image
    }
}
