import Foundation
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Methods, content codings, links that expire and checksums in header fields.
extension InteropTests {
    private static let page = RunningServer.page

    @Test(arguments: WebServer.Wire.allCases)
    func `a POST has its body, and a redirect repeats or changes it`(_ wire: WebServer.Wire) async throws {
        let post = { @Sendable (request: inout DownloadRequest) in
            request.method = "POST"
            request.body = .data(Data("a=1".utf8))
        }
        for (path, sent) in [("echo", "POST a=1"), ("303", "GET "), ("307", "POST a=1"), ("308", "POST a=1")] {
            try await ServersTrait.server(.caddy).download(path, wire, change: post) { download in
                let response = try FileProbe.bytes(of: try await download.value)
                #expect(String(decoding: response, as: UTF8.self) == sent, "\(path)")
            }
        }
    }

    @Test(
        .enabled(if: ContentCoding.decodable.count == 4, "a library is missing"),
        arguments: [(WebServer.apache2, "br/page.html"), (.caddy, "zstd/page.html")],
        WebServer.Wire.allCases
    )
    func `a page is transferred in br or zstd and saved as stored`(
        _ page: (kind: WebServer, path: String),
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(page.kind)
        let decode = { @Sendable (request: inout DownloadRequest) in request.decodesContent = true }
        try await server.download(page.path, wire, change: decode) { download in
            let file = try await download.value
            #expect(Self.page.difference(fromFileAt: file) == nil)
            let fetched = await history(of: download).compactMap { event -> Int64? in
                if case .finished(let summary) = event { summary.bytesFetched } else { nil }
            }
            // gzip, whose ratio is at most 1032 to 1, would take more.
            #expect(fetched.count == 1 && fetched.allSatisfy { $0 < 200 }, "\(fetched)")
        }
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `a link that expires is replaced by its provider, and the bytes are kept`(_ wire: WebServer.Wire) async throws
    {
        let server = try ServersTrait.server(.nginx)
        let link = try server.url("links/file.bin?sig=provided", wire)
        let change = { @Sendable (request: inout DownloadRequest) in
            Self.slow(&request)
            request.linkProvider = .init { .init(link) }
        }
        let signature = "first-\(wire)"
        try await server.download("links/file.bin?sig=\(signature)", wire, configure: Self.one, change: change) {
            try await pauseInTheMiddle($0)
            try server.expire(signature)
            try await resume($0)
            try await expectResumed($0)
        }
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `a link of the same identity continues where the expired one failed`(_ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(.nginx)
        let signature = "identified-\(wire)"
        try await withTemporaryDirectory { folder in
            try await server.withManager(configure: Self.one) { manager in
                func add(_ signature: String) async throws -> Download {
                    let url = try server.url("links/file.bin?sig=\(signature)", wire)
                    var request = DownloadRequest(url, to: .directory(folder))
                    request.identity = "file"
                    Self.slow(&request)
                    return try await manager.download(request)
                }
                let download = try await add(signature)
                try await pauseInTheMiddle(download)
                try server.expire(signature)
                await download.resume()
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.statusCode == 403)
                let revived = try await add("other")
                try await revived.setRateLimit(nil)
                try await expectResumed(revived)
            }
        }
    }

    private func expectResumed(_ download: Download) async throws {
        #expect(Self.file.difference(fromFileAt: try await download.value) == nil)
        let events = await history(of: download)
        #expect(events.contains { if case .resumed(let offset, _, _) = $0 { offset > 0 } else { false } }, "\(events)")
        #expect(!events.contains { if case .restarted = $0 { true } else { false } }, "\(events)")
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `the checksum in a header field is verified and reported`(_ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(.nginx)
        for isRight in [true, false] {
            let stored = server.folder.appending(path: isRight ? "site/page.html" : "site/file.bin")
            let sha256 = try await Checksum.compute(.sha256, ofFileAt: stored)
            let crc32c = try await Checksum.compute(.crc32c, ofFileAt: stored)
            let (digits, base64) = (sha256.hexadecimal, Data(sha256.bytes).base64EncodedString())
            for (path, checksum) in [
                ("digests/page.html?goog=crc32c=\(Data(crc32c.bytes).base64EncodedString())", crc32c),
                ("digests/page.html?amz=\(base64)", sha256), ("digests/page.html?sha256=\(digits)", sha256),
                ("linked?sha256=\(digits)", sha256),
            ] {
                try await server.download(path, wire) { download in
                    let events = await history(of: download)
                    #expect(download.error?.code == (isRight ? nil : .checksum), "\(path)")
                    #expect(events.contains(.verified(checksum)) == isRight, "\(path): \(events)")
                }
            }
        }
    }
}
