import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The bytes of complete files whose checksums or sizes are wrong.
@Suite(.timeLimit(.minutes(4)))
struct MismatchTests {
    private typealias Fixture = ResumeFixture
    private static let saved = "file.bin.mismatch"
    private let right = Fixture.old
    private let wrong = Fixture.new
    private let size = Fixture.size

    private func run(
        _ response: Response,
        in folder: URL,
        retries: Int = 3,
        decide: (@Sendable (DownloadError, Int) async -> RetryPolicy.Decision)? = nil,
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        let checksum = try Checksum(of: right.body)
        return try await Fixture.run(response, in: folder, retries: retries) {
            $0.retryPolicy.decide = decide
        } change: {
            $0.checksums = [checksum]
            change(&$0)
        }
    }

    @Test func `a mismatching file is saved, and the error has its path and both checksums`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: Self.saved)
            let outcome = try await run(.file(wrong), in: folder)
            let error = try #require(outcome.error)
            #expect(error.code == .checksum)
            #expect(error.savedFile?.filePath == file.path)
            for resource in [right, wrong] {
                #expect(error.message.contains(try Checksum(of: resource.body).hexadecimal))
            }
            #expect(error.message.contains(folder.appending(path: "file.bin").path + " "))
            #expect(error.message.contains("It was saved as \(file.path). "))
            #expect(outcome.events.contains(.failed(error)))
            #expect(outcome.requests.count == 1)
            #expect(outcome.names == [Self.saved])
            #expect(wrong.body.difference(fromFileAt: file) == nil)
            #expect(FileProbe.permissions(of: file) == 0o600)
            let version = try? FileSystem.system.attribute(file.path, SavedValidator.attribute, SavedValidator.maxBytes)
            #expect(version == nil)
        }
    }

    @Test func `a saved file is neither resumed nor taken for the result, and is saved only once`() async throws {
        try await withTemporaryDirectory { folder in
            for _ in 0..<2 {
                let outcome = try await run(.file(wrong), in: folder)
                #expect(outcome.error?.code == .checksum)
                #expect(outcome.error?.savedFile?.lastPathComponent == Self.saved)
                #expect(outcome.ranges == [nil] && outcome.requests[0]["If-None-Match"] == nil)
                #expect(outcome.names == [Self.saved])
            }
            let next = try await run(.file(right), in: folder)
            #expect(next.error == nil && next.difference == nil)
            #expect(next.names == ["file.bin", Self.saved])
        }
    }

    @Test func `an existing file with the name for the mismatch is not replaced`() async throws {
        try await withTemporaryDirectory { folder in
            let there = folder.appending(path: Self.saved)
            let bytes = Array("another".utf8)
            try Data(bytes).write(to: there)
            let outcome = try await run(.file(wrong), in: folder)
            #expect(outcome.error?.savedFile?.lastPathComponent == "file.bin (1).mismatch")
            #expect(outcome.names == ["file.bin (1).mismatch", Self.saved])
            #expect(try FileProbe.bytes(of: there) == bytes)
            #expect(wrong.body.difference(fromFileAt: folder.appending(path: "file.bin (1).mismatch")) == nil)
        }
    }

    @Test(arguments: [DownloadRequest.MismatchPolicy.keep, .delete])
    func `a mismatching file assembled from several responses is downloaded again once`(
        _ policy: DownloadRequest.MismatchPolicy
    ) async throws {
        for isRight in [true, false] {
            try await withTemporaryDirectory { folder in
                let responses = Response.sequence(
                    [.file(wrong).truncated(after: Fixture.cut), .file(wrong)],
                    then: .file(isRight ? right : wrong)
                )
                let outcome = try await run(responses, in: folder, change: { $0.mismatchPolicy = policy })
                #expect(outcome.ranges == [nil, "bytes=\(Fixture.cut)-", nil])
                #expect(outcome.restarts.map(\.bytes) == [size])
                #expect(outcome.isExact == isRight, "\(outcome.events)")
                if !isRight { #expect(outcome.names == (policy == .keep ? [Self.saved] : [])) }
            }
        }
    }

    @Test func `a mismatching file from several connections is downloaded again over one`() async throws {
        let good = SegmentFixture.file
        var bad = SegmentFixture.other
        bad.etag = good.etag
        let response = Response.answering { [bad] request in
            let isLast = request.index > 0 && request["Range"] == nil
            return isLast ? .file(good) : .file(bad).limited(bytesPerSecond: 2 << 20)
        }
        let checksum = try Checksum(of: good.body)
        try await withTemporaryDirectory { folder in
            let outcome = try await Fixture.run(response, in: folder, expecting: good) {
                $0.maxConnectionsPerDownload = 4
            } change: {
                $0.checksums = [checksum]
            }
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(outcome.restarts.count == 1)
            #expect(outcome.ranges.count > 2 && outcome.ranges.last == .some(nil))
        }
    }

    @Test func `a mismatching file is not retried`() async throws {
        try await withTemporaryDirectory { folder in
            let decide: @Sendable (DownloadError, Int) async -> RetryPolicy.Decision = { _, _ in .retry(after: .zero) }
            let outcome = try await run(.file(wrong), in: folder, decide: decide)
            #expect(outcome.error?.code == .checksum)
            #expect(outcome.requests.count == 1)
        }
    }

    /// A body that is longer than expected is not read to its end, and so is not worth saving.
    @Test(arguments: [-1, 1])
    func `a file of another size is saved if it is complete`(_ difference: Int64) async throws {
        try await withTemporaryDirectory { folder in
            let other = Resource(size: size + difference, seed: 2)
            let response = Response.file(other).chunked()
            let outcome = try await Fixture.run(response, in: folder, change: { $0.expectedSize = size })
            #expect(outcome.error?.code == .checksum)
            #expect(outcome.requests.count == 1)
            #expect(outcome.names == (difference < 0 ? [Self.saved] : []))
            #expect((outcome.error?.savedFile == nil) == (difference > 0))
        }
    }

    @Test func `a file that cannot be renamed stays as the partial file, which the error names`() async throws {
        var calls = FileSystem.unsynced
        calls.move = { _, _ throws(SystemError) in throw SystemError(errno: EACCES) }
        try await withTemporaryDirectory { folder in
            let checksum = try Checksum(.sha256, of: [1])
            let outcome = try await DiskFixture.run(to: .directory(folder), files: calls, checksums: [checksum])
            let error = try #require(outcome.error)
            #expect(error.code == .checksum && error.savedFile == nil)
            let partial = try #require(try FileProbe.names(in: folder).first { $0.hasSuffix(".part") })
            #expect(error.message.contains("It could not be saved under another name: "))
            #expect(error.message.contains(folder.appending(path: partial).path))
        }
    }

    @Test func `X02 a kill while saving a mismatch loses no bytes, and a second run fails the same way`()
        async throws
    {
        let size = 8000
        let (expected, checksum) = (Array(DiskFixture.bytes.prefix(size)), try Checksum(.sha256, of: [1]))
        func run(on disk: MemoryDisk) async throws -> DiskOutcome {
            try await DiskFixture.run(to: CrashFixture.destination, files: disk.calls, checksums: [checksum]) {
                DiskFixture.response($0, of: size)
            }
        }
        let disk = MemoryDisk(DiskImage(), bootID: "1")
        #expect(try await run(on: disk).error?.code == .checksum)
        let saved = CrashFixture.final + MismatchNames.suffix
        #expect(disk.image.names.keys.sorted() == [saved])
        var image = DiskImage()
        for change in disk.changes {
            image.apply(change)
            let second = MemoryDisk(image, bootID: "1")
            let outcome = try await run(on: second)
            #expect(outcome.error?.code == .checksum)
            #expect(outcome.starts.isEmpty == false)
            let names = second.image.names.keys
            #expect(names.contains(saved) && names.allSatisfy { $0.hasSuffix(MismatchNames.suffix) }, "\(names)")
            for name in names { #expect(second.image.bytes(of: name) == expected) }
        }
    }

    @Test func `a long name is shortened and keeps its extension`() throws {
        let url = try #require(URL(string: "http://h/\(String(repeating: "a", count: 250)).bin"))
        let names = DestinationPaths(DownloadRequest(url, to: .directory(URL(filePath: "/d/"))))
        var candidates = MismatchNames(names.plannedPath, names)
        for end in [".bin.mismatch", " (1).mismatch", " (2).mismatch"] {
            let next = candidates.next()
            let path = try #require(next)
            #expect(names.contains(path) && path.hasSuffix(end), "\(path)")
        }
    }
}
