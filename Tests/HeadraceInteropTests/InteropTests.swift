import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// Downloads from the servers that people have.
///
/// They need the servers installed, so they run where `HEADRACE_INTEROP` is set, as in `.ci/run`.
@Suite(
    .serialized,
    .timeLimit(.minutes(4)),
    .enabled(if: ProcessInfo.processInfo.environment["HEADRACE_INTEROP"] != nil, "HEADRACE_INTEROP is not set")
)
struct InteropTests {
    private static let file = Resource(size: 6 << 20, seed: 3).body
    private static let other = Resource(size: 5 << 20, seed: 4).body
    private static let page = Response.Body.bytes(
        Array(String(repeating: "<p>The same again.</p>\n", count: 10_000).utf8)
    )
    private static let files = [
        "file.bin": file, "page.html": page, "empty.bin": Resource(size: 0).body, "private/file.bin": file,
        "a file, and more.bin": file,
    ]

    /// Downloads a path of a server into a folder of its own.
    private func fetch<Result>(
        _ path: String,
        from server: WebServer,
        isEncrypted: Bool,
        _ configure: @escaping @Sendable (inout DownloadManager.Configuration, inout DownloadRequest) -> Void = {
            _,
            _ in
        },
        _ body: (RunningServer, Download) async throws -> Result
    ) async throws -> Result {
        try await server.run(Self.files) { running in
            try await withTemporaryDirectory { folder in
                var configuration = DownloadManager.Configuration()
                configuration.certificateAuthorities = running.authority
                configuration.retryPolicy = .none
                let url = try running.url(path, isEncrypted: isEncrypted)
                var request = DownloadRequest(url, to: .directory(folder))
                configure(&configuration, &request)
                return try await withDownloadManager(configuration) { [request] manager in
                    try await body(running, try await manager.download(request))
                }
            }
        }
    }

    @Test func `the servers are there`() throws {
        for server in WebServer.all {
            let version = try #require(server.version, "\(server.name) is not installed")
            print("interop: \(server.name): \(version)")
        }
    }

    @Test(arguments: WebServer.all, [false, true])
    func `files come whole, under their names`(_ server: WebServer, isEncrypted: Bool) async throws {
        for (path, name, body) in [
            ("/file.bin", "file.bin", Self.file), ("/empty.bin", "empty.bin", Resource(size: 0).body),
            ("/a%20file,%20and%20more.bin", "a file, and more.bin", Self.file), ("/old", "file.bin", Self.file),
            ("/page.html", "page.html", Self.page),
        ] {
            try await fetch(path, from: server, isEncrypted: isEncrypted) { _, download in
                let result = try await download.value
                #expect(result.lastPathComponent == name)
                #expect(body.difference(fromFileAt: result) == nil, "\(path)")
            }
        }
    }

    @Test(arguments: WebServer.all, [false, true])
    func `a pause in the middle is gone on with`(_ server: WebServer, isEncrypted: Bool) async throws {
        try await fetch("/file.bin", from: server, isEncrypted: isEncrypted, Self.slow) { _, download in
            try await pauseInTheMiddle(download)
            try download.setRateLimit(nil)
            await download.resume()
            let result = try await download.value
            #expect(Self.file.difference(fromFileAt: result) == nil)
            let events = await history(of: download)
            #expect(events.contains { if case .resumed(let offset, _) = $0 { offset > 0 } else { false } }, "\(events)")
            #expect(!events.contains { if case .restarted = $0 { true } else { false } }, "\(events)")
        }
    }

    @Test(arguments: WebServer.all, [false, true])
    func `a file that changes in the middle is fetched again, and never mixed`(
        _ server: WebServer,
        isEncrypted: Bool
    ) async throws {
        try await fetch("/file.bin", from: server, isEncrypted: isEncrypted, Self.slow) { running, download in
            try await pauseInTheMiddle(download)
            let new = running.site.appending(path: "new.bin")
            try Self.other.data.write(to: new)
            _ = try FileManager.default.replaceItemAt(running.site.appending(path: "file.bin"), withItemAt: new)
            try download.setRateLimit(nil)
            await download.resume()
            let result = try await download.value
            #expect(Self.other.difference(fromFileAt: result) == nil)
            let events = await history(of: download)
            #expect(events.contains { if case .restarted = $0 { true } else { false } }, "\(events)")
        }
    }

    @Test(arguments: WebServer.all, [false, true])
    func `several connections bring one file`(_ server: WebServer, isEncrypted: Bool) async throws {
        let several: @Sendable (inout DownloadManager.Configuration, inout DownloadRequest) -> Void = {
            $0.maxConnectionsPerDownload = 4
            $1.rateLimit = 12 << 20
        }
        try await fetch("/file.bin", from: server, isEncrypted: isEncrypted, several) { _, download in
            let result = try await download.value
            #expect(Self.file.difference(fromFileAt: result) == nil)
            let events = await history(of: download)
            #expect(events.contains { if case .connectionOpened = $0 { true } else { false } }, "\(events)")
            #expect(!events.contains { if case .fellBackToOneConnection = $0 { true } else { false } }, "\(events)")
        }
    }

    @Test(arguments: WebServer.all, [false, true])
    func `what the server refuses is its status`(_ server: WebServer, isEncrypted: Bool) async throws {
        for (path, status) in [("/missing.bin", 404), ("/private/file.bin", 401)] {
            try await fetch(path, from: server, isEncrypted: isEncrypted) { _, download in
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.statusCode == status)
            }
        }
        let login = Data("user:secret".utf8).base64EncodedString()
        let withLogin: @Sendable (inout DownloadManager.Configuration, inout DownloadRequest) -> Void = {
            $1.headers = [HeaderField(name: "Authorization", value: "Basic \(login)")]
        }
        try await fetch("/private/file.bin", from: server, isEncrypted: isEncrypted, withLogin) { _, download in
            let result = try await download.value
            #expect(Self.file.difference(fromFileAt: result) == nil)
        }
    }

    private static let slow: @Sendable (inout DownloadManager.Configuration, inout DownloadRequest) -> Void = {
        $0.maxConnectionsPerDownload = 1
        $1.rateLimit = 4 << 20
    }

    private func pauseInTheMiddle(_ download: Download) async throws {
        for await progress in download.progress where progress.bytesReceived > 1 << 20 { break }
        await download.pause()
        #expect(download.state == .paused)
    }

    private func history(of download: Download) async -> [DownloadEvent] {
        var events: [DownloadEvent] = []
        for await event in download.events { events.append(event) }
        return events
    }
}
