import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Resuming without a validator, with the opt-in overlap policy.
@Suite(.timeLimit(.minutes(4)))
struct OverlapTests {
    private typealias Fixture = ResumeFixture
    private let cut = ResumeFixture.cut
    private let size = ResumeFixture.size
    private let start = ResumeFixture.cut - RangeRequest.overlapBytes

    private static func bare(seed: UInt64 = 1) -> Resource {
        var resource = Resource(size: ResumeFixture.size, seed: seed, etag: nil)
        resource.lastModified = nil
        return resource
    }

    /// The old version with one byte changed.
    private func changed(at offset: Int64) -> Resource {
        var bytes = Pattern(seed: 1).bytes(in: 0..<size)
        bytes[Int(offset)] ^= 1
        var resource = Self.bare()
        resource.body = .bytes(bytes)
        return resource
    }

    @Test(arguments: [("W/\"v1\"", nil), ("v1", nil), (nil, "Thu, 02 Jan 2025 00:00:00 GMT"), (nil, nil)])
    func `R35 V04 V07 V08 a matching overlap resumes the download`(_ tag: String?, _ date: String?) async throws {
        var resource = Self.bare()
        resource.etag = tag
        resource.lastModified = date
        let outcome = try await Fixture.afterCut(of: resource, .file(resource), policy: .overlap)
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(start)-"])
        #expect(outcome.ifRanges == [nil, nil])
        #expect(outcome.restarts.isEmpty)
        #expect(
            outcome.events.contains(
                .resumed(from: cut, bytesKept: cut, proof: .overlap)
            )
        )
        guard case .finished(let summary) = outcome.events.last else {
            Issue.record("\(outcome.events)")
            return
        }
        #expect(summary.bytesFetched == size + RangeRequest.overlapBytes)
    }

    @Test func `R35 a different overlap restarts, and versions are not mixed`() async throws {
        let new = Self.bare(seed: 2)
        let outcome = try await Fixture.afterCut(of: Self.bare(), .file(new), expecting: new, policy: .overlap)
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(start)-", nil])
        #expect(outcome.resumes == [])
        #expect(outcome.restarts.map(\.reason) == [.overlapDiffers])
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test(arguments: [ResumeFixture.cut - 1, ResumeFixture.cut - 65_536, ResumeFixture.cut - 30_000])
    func `R35 one changed byte in the overlap is detected`(_ offset: Int64) async throws {
        let new = changed(at: offset)
        let outcome = try await Fixture.afterCut(of: Self.bare(), .file(new), expecting: new, policy: .overlap)
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    /// This is why the policy is not the default.
    @Test func `R35 a change before the overlap is not detected, but the default policy mixes nothing`() async throws {
        let new = changed(at: start - 1)
        let mixed = try await Fixture.afterCut(of: Self.bare(), .file(new), expecting: Self.bare(), policy: .overlap)
        #expect(mixed.resumes == [cut])
        let outcome = try await Fixture.afterCut(of: Self.bare(), .file(new), expecting: new)
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `R35 with a strong validator nothing is downloaded twice`() async throws {
        let outcome = try await Fixture.afterCut(.file(Fixture.old), policy: .overlap)
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(cut)-"])
        #expect(outcome.ifRanges == [nil, "\"v1\""])
    }

    @Test func `R35 fewer bytes than the overlap are downloaded again`() async throws {
        let resource = Self.bare()
        let outcome = try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(resource).truncated(after: 65_536)], then: .file(resource))
            return try await Fixture.run(response, in: folder, policy: .overlap)
        }
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, nil])
    }

    @Test func `R16 R35 a whole file instead of the overlap is accepted`() async throws {
        let new = Self.bare(seed: 2)
        let outcome = try await Fixture.afterCut(of: Self.bare(), .whole(new), expecting: new, policy: .overlap)
        #expect(outcome.isExact)
        #expect(outcome.requests.count == 2)
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `R05 R35 the extra bytes of a part that begins before the overlap are skipped`() async throws {
        let resource = Self.bare()
        let outcome = try await Fixture.afterCut(
            of: resource,
            .part(start - 1000..<size, of: resource),
            policy: .overlap
        )
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
    }

    @Test func `R11 R35 a part with only the overlap validates nothing`() async throws {
        let resource = Self.bare()
        let outcome = try await Fixture.afterCut(
            of: resource,
            .part(start..<cut, of: resource),
            then: .file(resource),
            policy: .overlap
        )
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.reason) == [.overlapMissing])
    }

    /// The bytes of the overlap before the cut are right, and the rest of the overlap never arrives.
    @Test(arguments: [true, false])
    func `L01 R35 a cut in the overlap validates nothing`(_ hasLength: Bool) async throws {
        let resource = Self.bare()
        let part = Response.part(start..<size, of: resource).truncated(after: 1000)
        let outcome = try await Fixture.afterCut(
            of: resource,
            hasLength ? part : part.closeDelimited,
            then: .file(resource),
            policy: .overlap
        )
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(start)-", "bytes=\(start)-"])
        #expect(outcome.resumes == [cut])
    }

    /// Regression: the complete length in a response was trusted before its bytes were compared.
    @Test(arguments: [true, false])
    func `R34 R35 a file that only lacks its end is complete if its last bytes match`(
        _ isSame: Bool
    ) async throws {
        let (first, last) = (Self.bare(), Self.bare(seed: isSame ? 1 : 2))
        let all = Response.whole(first).chunked().truncated(after: size)
        let part = Response.file(last).truncated(after: 1000)
        let range = "bytes=\(size - RangeRequest.overlapBytes)-"
        for (responses, ranges) in [([all], [nil, range]), ([all, part], [nil, range, range])] {
            let outcome = try await withTemporaryDirectory {
                try await Fixture.run(
                    .sequence(responses, then: .file(last)),
                    in: $0,
                    expecting: last,
                    policy: .overlap
                )
            }
            #expect(outcome.isExact)
            // The truncated part has already shown that the bytes differ.
            #expect(outcome.ranges == (isSame ? ranges : [nil, range, nil]))
        }
    }

    @Test func `R35 a later run resumes with the overlap as well`() async throws {
        let resource = Self.bare()
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(resource).truncated(after: cut)], then: .file(resource))
            try await withFaultServer(response) { server in
                let first = try await Fixture.run(from: server, in: folder, retries: 0, policy: .overlap)
                #expect(first.error?.code == .connectionLost)
                let second = try await Fixture.run(from: server, in: folder, policy: .overlap)
                #expect(second.isExact)
                #expect(second.resumes == [cut])
            }
        }
    }

    /// Regression: bytes behind the gap were compared as if they preceded it.
    @Test func `R35 the overlap precedes the first gap, and later bytes are validated again`() async throws {
        let (resource, island) = (Self.bare(), 250_000..<Int64(280_000))
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(resource).truncated(after: cut)], then: .file(resource))
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                let partial = DestinationPaths(request).partialPath
                let file = try FileSystem.system.open(partial)
                try FileSystem.system.writeAll(file, Pattern(seed: 1).bytes(in: island), at: island.lowerBound)
                try FileSystem.system.close(file)
                let recordFile = RecordFile(of: partial, calls: .system)
                guard case .record(var record) = try recordFile.read() else { throw SystemError(errno: ENOENT) }
                record.written.insert(island)
                try recordFile.write(record, syncing: false)
                let outcome = try await Fixture.run(from: server, in: folder, policy: .overlap)
                #expect(outcome.isExact)
                let next = island.lowerBound - RangeRequest.overlapBytes
                #expect(outcome.ranges.dropFirst() == ["bytes=\(start)-\(island.lowerBound - 1)", "bytes=\(next)-"])
                #expect(outcome.resumes == [cut, island.lowerBound])
                #expect(outcome.restarts.isEmpty)
            }
        }
    }

    @Test func `K05 R35 a read error fails the download and keeps the bytes`() async throws {
        let resource = Self.bare()
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(resource).truncated(after: cut)], then: .file(resource))
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                let recorder = FileSystemRecorder { call throws(SystemError) in
                    if case .readAt = call { throw SystemError(errno: EIO) }
                }
                let manager = try await DownloadManager(
                    environment: TransferEnvironment(
                        configuration: DownloadConfiguration { $0.retryPolicy.maxFailures = 0 },
                        transport: try DownloadConfiguration().makeTransport(),
                        files: recorder.fileCalls,
                        clock: AnyClock(ContinuousClock())
                    )
                )
                let download = try await manager.download(
                    DownloadRequest(server.url("/file.bin"), to: .directory(folder), resumePolicy: .overlap)
                )
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                await manager.shutdown()
                #expect(error?.code == .fileSystem)
                #expect(FileProbe.size(of: download.partialFile) == cut)
            }
        }
    }
}
