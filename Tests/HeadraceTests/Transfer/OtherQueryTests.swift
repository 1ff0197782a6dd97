import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Partial files of URLs that differ only in their query, as signed links do.
@Suite(.timeLimit(.minutes(4)))
struct OtherQueryTests {
    private static let size: Int64 = 3 << 20
    private static let cut: Int64 = 2 << 20

    private static func resource(seed: UInt64 = 1, etag: String?, lastModified: String? = nil) -> Resource {
        Resource(.pattern(seed: seed, size: size), etag: etag, lastModified: lastModified)
    }

    /// Downloads a part from one query, then the file from another one; returns the server's requests for the second.
    private func run(
        _ first: Resource,
        then second: Resource,
        paths: [String] = ["/a/file.bin?sig=1", "/a/file.bin?sig=2"],
        in folder: URL,
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> [RecordedRequest] {
        let response = Response.answering { request in
            guard request.target.hasSuffix("=1") else { return .file(second) }
            return request.attempt == 0 ? .file(first).truncated(after: Self.cut) : .status(403)
        }
        return try await withFaultServer(response) { server in
            for path in paths {
                let configuration = DownloadConfiguration {
                    $0.retryPolicy.baseDelay = .zero
                    $0.maxConnectionsPerDownload = 1
                }
                try await withDownloadManager(configuration) { manager in
                    var request = DownloadRequest(server.url(path), to: .directory(folder))
                    change(&request)
                    _ = try? await manager.download(request).value
                }
            }
            return server.requests.filter { $0.target.hasSuffix("=2") }
        }
    }

    @Test(arguments: [
        resource(etag: "\"v1\""), resource(etag: nil, lastModified: "Wed, 01 Jan 2025 00:00:00 GMT"),
    ])
    func `a partial file of another query is continued if a validator proves it`(_ file: Resource) async throws {
        try await withTemporaryDirectory { folder in
            let requests = try await run(file, then: file, in: folder)
            #expect(requests.map(\.rangeStart) == [nil, Self.cut])
            #expect(file.body.difference(fromFileAt: folder.appending(path: "file.bin")) == nil)
            #expect(try FileProbe.names(in: folder) == ["file.bin"])
        }
    }

    @Test func `a partial file of another query without validators is continued if a checksum will prove it`()
        async throws
    {
        let file = Self.resource(etag: nil)
        let checksum = try Checksum(of: file.body)
        for hasChecksum in [true, false] {
            try await withTemporaryDirectory { folder in
                let requests = try await run(file, then: file, in: folder) {
                    if hasChecksum { $0.checksums = [checksum] }
                }
                #expect(requests.map(\.rangeStart) == (hasChecksum ? [nil, Self.cut] : [nil]))
                #expect(file.body.difference(fromFileAt: folder.appending(path: "file.bin")) == nil)
            }
        }
    }

    @Test(arguments: [
        (resource(seed: 2, etag: "\"v2\""), ["/a/file.bin?sig=1", "/a/file.bin?sig=2"]),
        (resource(etag: "\"v1\""), ["/a/file.bin?sig=1", "/b/file.bin?sig=2"]),
        (resource(etag: "W/\"v1\""), ["/a/file.bin?sig=1", "/a/file.bin?sig=2"]),
    ])
    func `a partial file of another version or path stays as it is`(
        _ second: Resource,
        _ paths: [String]
    ) async throws {
        try await withTemporaryDirectory { folder in
            let first = Self.resource(etag: "\"v1\"")
            let requests = try await run(first, then: second, paths: paths, in: folder)
            #expect(requests.map(\.rangeStart) == [nil])
            #expect(second.body.difference(fromFileAt: folder.appending(path: "file.bin")) == nil)
            #expect(try FileProbe.names(in: folder).filter { $0.hasSuffix(".part") }.count == 1)
        }
    }
}
