import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Files that are verified with a checksum of the request before they are renamed.
@Suite(.timeLimit(.minutes(4)))
struct VerificationTests {
    private typealias Fixture = ResumeFixture
    private let file = Fixture.old
    private let other = Fixture.new
    private let cut = Fixture.cut
    private let size = Fixture.size

    private func checksum(_ resource: Resource = Fixture.old) throws -> Checksum { try Checksum(of: resource.body) }

    /// Runs a download that expects a checksum.
    private func run(
        _ response: Response,
        _ checksums: [Checksum],
        expecting expected: Resource = Fixture.old,
        policy: DownloadRequest.MismatchPolicy = .keep,
        onEvent: (DownloadEvent) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            try await Fixture.run(
                response,
                in: folder,
                expecting: expected,
                change: {
                    $0.checksums = checksums
                    $0.mismatchPolicy = policy
                },
                onEvent: onEvent
            )
        }
    }

    @Test(arguments: Checksum.Algorithm.allCases)
    func `V13 a file with the right checksum is renamed without being read again`(
        _ algorithm: Checksum.Algorithm
    ) async throws {
        let checksum = try Checksum(algorithm, of: Pattern(seed: 1).bytes(in: 0..<size))
        let outcome = try await run(.file(file), [checksum])
        #expect(outcome.isExact)
        #expect(outcome.events.contains(.verified(checksum)))
        #expect(!outcome.events.contains(.verifying))
    }

    @Test func `V13 a single response with a wrong checksum fails at once`() async throws {
        let expected = try checksum()
        let outcome = try await run(.file(other), [expected])
        let error = try #require(outcome.error)
        #expect(error.code == .checksum)
        #expect(error.url?.path() == "/file.bin")
        for text in [expected.hexadecimal, try checksum(other).hexadecimal, "/file.bin"] {
            #expect(error.message.contains(text))
        }
        #expect(outcome.names == ["file.bin.mismatch"])
        #expect(outcome.ranges == [nil])
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `V13 with the delete policy a mismatching file is deleted`() async throws {
        let outcome = try await run(.sequence([.file(other)], then: .file(file)), [try checksum()], policy: .delete)
        #expect(outcome.error?.code == .checksum)
        #expect(outcome.error?.savedFile == nil)
        #expect(outcome.requests.count == 1)
        #expect(outcome.names == [])
    }

    /// The second source is requested for parts in parallel, and has none.
    @Test func `V13 a source without usable parts does not prevent the download from restarting`() async throws {
        let (wrong, right) = (Resource(size: 3 << 20, seed: 5), Resource(size: 3 << 20, seed: 6))
        let expected = try checksum(right)
        let outcome = try await Fixture.run(withMirrors: ["/a": .file(wrong), "/b": .status(404)]) {
            $0.checksums = [expected]
        } configure: {
            $0.maxConnectionsPerDownload = nil
        }
        #expect(outcome.error != nil)
        #expect(outcome.restarts.map(\.bytes) == [3 << 20], "\(outcome.restarts)")
    }

    @Test func `of several checksums the strongest is used`() async throws {
        let weak = try #require(ChecksumFixture.checksum(.md5))
        let outcome = try await run(.file(file), [weak, try checksum(), weak])
        #expect(outcome.isExact)
        #expect(outcome.events.contains(.verified(try checksum())))
    }

    @Test func `two different checksums for one algorithm are rejected`() throws {
        let url = try #require(URL(string: "http://h/a"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
        request.checksums = [try checksum(), try checksum(), try #require(ChecksumFixture.checksum(.md5))]
        try request.validate()
        request.checksums.append(try checksum(other))
        #expect(throws: DownloadError.self) { try request.validate() }
    }

    @Test func `R03 bytes of several responses of one run are not read again`() async throws {
        let response = Response.sequence(
            [.file(file).truncated(after: 50_000), .file(file).truncated(after: 100_000)],
            then: .file(file)
        )
        let outcome = try await run(response, [try checksum()])
        #expect(outcome.isExact)
        #expect(outcome.resumes == [50_000, 150_000])
        #expect(!outcome.events.contains(.verifying))
        #expect(outcome.events.contains(.verified(try checksum())))
    }

    @Test func `L13 an empty file is verified`() async throws {
        let empty = Resource(.bytes([]))
        let outcome = try await run(.file(empty), [try checksum(empty)], expecting: empty)
        #expect(outcome.isExact)
    }

    @Test func `R31 a file of unknown length is verified`() async throws {
        let outcome = try await run(.whole(file).chunked(), [try checksum()])
        #expect(outcome.isExact)
        #expect(outcome.events.contains(.verified(try checksum())))
    }

    @Test(arguments: [true, false])
    func `K17 a changed byte in a partial file is detected, and the file downloaded again`(
        _ isFlipped: Bool
    ) async throws {
        let expected = try checksum()
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(file).truncated(after: cut)], then: .file(file))
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0)
                if isFlipped { try Self.flipByte(at: 777, ofPartialIn: folder) }
                let outcome = try await Fixture.run(from: server, in: folder, change: { $0.checksums = [expected] })
                #expect(outcome.isExact)
                #expect(outcome.resumes == [cut])
                #expect(outcome.events.contains(.verifying))
                #expect(outcome.restarts.map(\.bytes) == (isFlipped ? [size] : []))
            }
        }
    }

    private static func flipByte(at offset: Int, ofPartialIn folder: URL) throws {
        let name = try #require(try FileProbe.names(in: folder).first { $0.hasSuffix(".part") })
        let partial = folder.appending(path: name)
        let handle = try FileSystem.system.open(partial.path)
        var bytes = try FileSystem.system.readAt(handle, Int64(offset), 1)
        bytes[0] ^= 1
        try FileSystem.system.writeAll(handle, bytes, at: Int64(offset))
        try FileSystem.system.close(handle)
    }

    // MARK: Bytes verified at the end

    private func bare(seed: UInt64 = 1, tag: String? = nil) -> Resource {
        var resource = Resource(size: size, seed: seed, etag: tag)
        resource.lastModified = nil
        return resource
    }

    @Test(arguments: [nil, #"W/"v1""#, "v1"])
    func `V04 V08 V09 without a validator a checksum allows resuming`(_ tag: String?) async throws {
        let resource = bare(tag: tag)
        let response = Response.sequence([.file(resource).truncated(after: cut)], then: .file(resource))
        let outcome = try await run(response, [try checksum()])
        #expect(outcome.isExact)
        #expect(outcome.ranges == [nil, "bytes=\(cut)-"])
        #expect(outcome.ifRanges == [nil, nil])
        #expect(
            outcome.events.contains(
                .resumed(from: cut, bytesKept: cut, proof: .checksum)
            )
        )
    }

    @Test func `V10 tags that differ by node allow resuming with a checksum`() async throws {
        var node = file
        node.etag = #""v1-of-another-node""#
        let response = Response.sequence([.file(file).truncated(after: cut)], then: .file(node))
        let outcome = try await run(response, [try checksum()])
        #expect(outcome.isExact)
        #expect(outcome.resumes == [cut])
        #expect(outcome.restarts.isEmpty)
    }

    @Test(arguments: [true, false])
    func `V08 mixed versions are detected at the end, and the new one is downloaded whole`(
        _ isRightThen: Bool
    ) async throws {
        let (old, new) = (bare(), bare(seed: 2))
        let last = Response.file(isRightThen ? new : old)
        let response = Response.sequence(
            [.file(old).truncated(after: cut), .file(new), isRightThen ? .file(new) : .file(old)],
            then: last
        )
        let outcome = try await run(response, [try checksum(new)], expecting: new)
        if isRightThen {
            #expect(outcome.isExact)
            #expect(outcome.ranges == [nil, "bytes=\(cut)-", nil])
            #expect(outcome.restarts.map(\.bytes) == [size])
        } else {
            // A file of two versions is downloaded again; a file from one fresh response is not.
            #expect(outcome.error?.code == .checksum)
            #expect(outcome.ranges == [nil, "bytes=\(cut)-", nil])
            #expect(outcome.names == ["file.bin.mismatch"])
        }
    }

    @Test func `V08 a partial file of an earlier run is resumed with a checksum`() async throws {
        let (resource, expected) = (bare(), try checksum())
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(resource).truncated(after: cut)], then: .file(resource))
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0, change: { $0.checksums = [expected] })
                let outcome = try await Fixture.run(from: server, in: folder, change: { $0.checksums = [expected] })
                #expect(outcome.isExact)
                #expect(outcome.resumes == [cut])
            }
        }
    }

    /// A further run requests the file without the checksum, or with it.
    @Test(arguments: [false, true])
    func `bytes verifiable only by a checksum are never renamed without it`(_ isAsked: Bool) async throws {
        var mixed = other
        mixed.ifRange = .ignored
        let responses = Response.sequence(
            [.file(file).truncated(after: cut), .file(mixed).truncated(after: 60_000), .status(404)],
            then: .file(file)
        )
        let checksum = try checksum()
        try await withTemporaryDirectory { folder in
            try await withFaultServer(responses) { server in
                let first = try await Fixture.run(from: server, in: folder, change: { $0.checksums = [checksum] })
                #expect(first.error?.statusCode == 404)
                #expect(first.resumes == [cut])
                let second = try await Fixture.run(
                    from: server,
                    in: folder,
                    change: { $0.checksums = isAsked ? [checksum] : [] }
                )
                #expect(second.isExact)
                #expect(second.restarts.map(\.bytes) == [isAsked ? size : cut + 60_000])
                #expect(second.restarts.contains { $0.reason == .unverified } == !isAsked)
            }
        }
    }

    /// Regression: a change of the source cleared the flag.
    @Test func `bytes verifiable only by a checksum are not continued from a mirror without it`() async throws {
        var mixed = other
        mixed.ifRange = .ignored
        let responses = Response.sequence(
            [.file(file).truncated(after: cut), .file(mixed).truncated(after: 60_000)],
            then: .status(404)
        )
        let checksum = try checksum()
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/file.bin": responses, "/m/file.bin": .file(file)])) { server in
                let first = try await Fixture.run(from: server, in: folder, change: { $0.checksums = [checksum] })
                #expect(first.error?.statusCode == 404)
                let second = try await Fixture.run(
                    from: server,
                    in: folder,
                    change: { $0.mirrors = [server.url("/m/file.bin")] }
                )
                #expect(second.isExact, "\(second.events)")
                #expect(second.restarts.map(\.reason) == [.unverified])
            }
        }
    }
}
