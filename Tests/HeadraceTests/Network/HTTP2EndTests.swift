import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Bodies without a length over HTTP/2, whose end libcurl does not distinguish from a reset with NO_ERROR.
@Suite(.timeLimit(.minutes(4)), .enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"))
struct HTTP2EndTests {
    private typealias Fixture = HTTP2Fixture

    private static func resource(
        etag: String? = "\"v1\"",
        lastModified: String? = nil,
        acceptRanges: String? = "bytes",
        supportsRanges: Bool = true
    ) -> Resource {
        Resource(
            Fixture.file.body,
            etag: etag,
            lastModified: lastModified,
            acceptRanges: acceptRanges,
            supportsRanges: supportsRanges
        )
    }

    /// Truncates the first response without a length by a reset with NO_ERROR; later responses are complete.
    @Sendable private static func cut(_ request: RecordedRequest, _ resource: Resource) -> [HTTP2Step] {
        var steps = HTTP2Step.file(resource, for: request, omitsLength: true)
        guard request["Range"] == nil, case .data = steps.last else { return steps }
        steps[steps.count - 1] = Fixture.part
        return steps + [.reset(.noError)]
    }

    @Test(arguments: ["\"v1\"", "W/\"v1\"", nil], ["Wed, 01 Jan 2025 00:00:00 GMT", nil])
    func `the end is verified by a request for the next byte`(_ etag: String?, _ lastModified: String?) async throws {
        let resource = Self.resource(etag: etag, lastModified: lastModified)
        let outcome = try await Fixture.run { HTTP2Step.file(resource, for: $0, omitsLength: true) }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.ranges == [nil, "bytes=\(Fixture.size)-"])
        #expect(outcome.isLengthVerified == true)
    }

    @Test func `a truncated stream is resumed by a request for the next byte`() async throws {
        let outcome = try await Fixture.run(
            configure: { $0.maxConnectionsPerDownload = 1 },
            script: { Self.cut($0, Self.resource()) }
        )
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.ranges == [nil, "bytes=\(Fixture.cut)-"])
    }

    @Test(arguments: ["bytes", "none", nil], [true, false])
    func `the whole file over HTTP 1 replaces one whose end is not verified`(
        _ acceptRanges: String?,
        _ isCut: Bool
    ) async throws {
        let resource = Self.resource(etag: nil, acceptRanges: acceptRanges, supportsRanges: false)
        for fallback in [Response.file(resource).chunked(), .file(resource)] {
            let outcome = try await Fixture.run(fallback: fallback) { request in
                isCut ? Self.cut(request, resource) : HTTP2Step.file(resource, for: request, omitsLength: true)
            }
            #expect(outcome.isExact, "\(outcome)")
            #expect(outcome.requests.count == (acceptRanges == "bytes" ? 2 : 1))
            #expect(outcome.fallbackRequests.count == 1)
            #expect(outcome.isLengthVerified == true)
        }
    }

    @Test func `a POST is not sent again to verify the end`() async throws {
        let outcome = try await Fixture.run(
            change: { $0.method = "POST" },
            script: { HTTP2Step.file(Self.resource(), for: $0, omitsLength: true) }
        )
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1)
        #expect(outcome.isLengthVerified == false)
    }

    @Test(arguments: [true, false])
    func `an unverified end fails the download, and its bytes are saved`(_ isCut: Bool) async throws {
        let resource = Self.resource(supportsRanges: false)
        let outcome = try await Fixture.run { request in
            let steps = HTTP2Step.file(resource, for: request, omitsLength: true)
            return isCut ? [Fixture.unboundedHead, Fixture.part, .reset(.noError)] : steps
        }
        #expect(outcome.error?.code == .protocolViolation)
        #expect(outcome.error?.message.contains("HTTP/2") == true)
        #expect(outcome.requests.count == 2)
        #expect(outcome.names.count == 2 && !outcome.names.contains("file.bin"), "\(outcome.names)")
    }

    @Test func `an HTTP 2 server that does not advertise ranges may still send them`() async throws {
        let outcome = try await Fixture.run {
            HTTP2Step.file(Self.resource(acceptRanges: nil), for: $0, omitsLength: true)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 2)
    }

    @Test(arguments: [403, 404, 410])
    func `a single-use link fails with its bytes saved`(_ status: Int) async throws {
        let outcome = try await Fixture.run(fallback: .status(status)) {
            HTTP2Step.file(Self.resource(acceptRanges: nil), for: $0, omitsLength: true)
        }
        #expect(outcome.error?.statusCode == status)
        #expect(outcome.error?.message.contains("HTTP/2") == true)
        #expect(outcome.requests.count == 1)
        #expect(outcome.fallbackRequests.count == 1)
        #expect(outcome.names.count == 2 && !outcome.names.contains("file.bin"), "\(outcome.names)")
    }

    @Test func `the request for the end is retried if the server is busy`() async throws {
        let outcome = try await Fixture.run { request in
            request.index == 1
                ? [.head(429, [("retry-after", "0")], endsStream: true)]
                : HTTP2Step.file(Self.resource(), for: request, omitsLength: true)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 3)
    }

    @Test func `a checksum or a size verifies the end without a request`() async throws {
        let checksum = try Checksum(of: Fixture.file.body)
        for change: (inout DownloadRequest) -> Void in [
            { $0.checksums = [checksum] }, { $0.expectedSize = Fixture.size },
        ] {
            let outcome = try await Fixture.run(change: change) {
                HTTP2Step.file(Self.resource(), for: $0, omitsLength: true)
            }
            #expect(outcome.isExact, "\(outcome)")
            #expect(outcome.requests.count == 1)
            #expect(outcome.isLengthVerified == true)
            let cut = try await Fixture.run(fallback: .file(Self.resource()), change: change) {
                Self.cut($0, Self.resource())
            }
            #expect(cut.isExact, "\(cut)")
            // With the size, the file is known to be large, and arrives over HTTP/1.1.
            #expect(cut.fallbackRequests.count == 1 && cut.ranges.count <= 1)
        }
    }

    @Test func `versions are not mixed if the file changes before its end is verified`() async throws {
        let other = Resource(.pattern(seed: 2, size: Fixture.cut), etag: "\"v2\"")
        let outcome = try await Fixture.run(fallback: .file(Self.resource(etag: "\"v3\""))) { request in
            request.index == 0
                ? Self.cut(request, Self.resource()) : HTTP2Step.file(other, for: request, omitsLength: true)
        }
        #expect(outcome.isExact, "\(outcome)")
    }

    @Test(arguments: [true, false])
    func `an empty body is verified like any other`(_ isFile: Bool) async throws {
        let empty = Resource(size: 0)
        let outcome = try await Fixture.run(
            fallback: isFile ? .file(empty).chunked() : .file(Self.resource()).chunked()
        ) { _ in
            [.head(200, [], endsStream: true)]
        }
        #expect(outcome.error == nil)
        #expect(outcome.names == ["file.bin"])
        #expect(outcome.difference == (isFile ? .size(0) : nil))
    }

    @Test func `a response that breaks the rules of HTTP 2 is rejected at once`() async throws {
        let size = "\(Fixture.size)"
        let broken: [[HTTP2Step]] = [
            [.headers([(":status", "200"), (":status", "200"), ("content-length", size)]), .data(Fixture.file.body)],
            [.headers([("content-length", size)]), .data(Fixture.file.body, endsStream: true)],
            [.head(200, [("content-length", size), ("transfer-encoding", "chunked")]), .data(Fixture.file.body)],
            [.head(200, [("content-length", size)]), .data("short", endsStream: true)],
            [.head(200, [("content-length", "3")]), .data("longer", endsStream: true)],
        ]
        for steps in broken {
            let outcome = try await Fixture.run { _ in steps }
            #expect(outcome.error?.code == .protocolViolation, "\(steps.first) \(outcome.error)")
            #expect(outcome.requests.count == 1, "\(steps.first)")
            #expect(!outcome.names.contains("file.bin"))
        }
    }

    /// Cut within a gzip member, and after the second one of three.
    @Test(.enabled(if: ContentCoding.decodable.contains(.gzip), "zlib is missing"), arguments: [false, true])
    func `an encoded file that a stream may have cut is downloaded again over HTTP 1`(_ isBetween: Bool) async throws {
        let size = Fixture.size
        let plain = Pattern(seed: 1).bytes(in: 0..<size)
        let members = stride(from: 0, to: plain.count, by: 1 << 20).map {
            EncodedFile.gzip(Array(plain[$0..<min($0 + 1 << 20, plain.count)]))
        }
        let whole = isBetween ? members.flatMap(\.self) : EncodedFile.gzip(plain)
        let cut = isBetween ? members[0] + members[1] : Array(whole.prefix(1 << 20))
        let file = Response.file(Resource(.bytes(whole), etag: "W/\"v1\"")).header("Content-Encoding", "gzip")
        let head = HTTP2Step.head(200, [("etag", "W/\"v1\""), ("content-encoding", "gzip")])
        let outcome = try await Fixture.run(
            fallback: file,
            change: { $0.decodesContent = true },
            script: { _ in [head, .data(.bytes(cut), endsStream: true)] }
        )
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1, "\(outcome.ranges)")
        // The bytes after the received ones cannot be proved to be of the same version.
        #expect(outcome.fallbackRequests.map { $0["Range"] } == ["bytes=\(cut.count)-", nil])
    }
}
