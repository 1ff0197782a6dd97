import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads from hosts that require https.
@Suite(.timeLimit(.minutes(4)))
struct HSTSTests {
    private static let field = ("Strict-Transport-Security", "max-age=1000; includeSubDomains")

    /// Runs the body with a manager over a transport without a network.
    private func run(
        _ transport: FakeTransport,
        file: URL? = nil,
        _ body: (DownloadManager, URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let configuration = NetworkFixture.configuration { $0.hstsFile = file }
            let environment = TransferEnvironment(
                configuration: configuration,
                transport: transport,
                clock: AnyClock(ContinuousClock())
            )
            let manager = try await DownloadManager(environment: environment)
            do {
                try await body(manager, folder)
                await manager.shutdown()
            } catch {
                await manager.shutdown()
                throw error
            }
        }
    }

    private func download(_ text: String, in manager: DownloadManager, _ folder: URL) async throws -> [DownloadEvent] {
        let url = try #require(URL(string: text))
        let download = try await manager.download(
            DownloadRequest(url, to: .directory(folder), headers: [HeaderField(name: "X-Api-Key", value: "k")])
        )
        _ = try await download.value
        var events: [DownloadEvent] = []
        for await event in download.events { events.append(event) }
        return events
    }

    /// Serves every file, with the field over https.
    private static func transport() -> FakeTransport {
        FakeTransport { request in
            FakeTransport.Reply(fields: [("Content-Length", "5"), field], body: Array("hello".utf8))
        }
    }

    @Test func `a known host and those below are requested over https, with all fields`() async throws {
        let transport = Self.transport()
        try await run(transport) { manager, folder in
            for text in ["http://a.example/1", "https://a.example/2"] {
                let events = try await download(text, in: manager, folder)
                #expect(!events.contains { if case .redirected = $0 { true } else { false } })
            }
            let events = try await download("http://b.a.example:80/3", in: manager, folder)
            let (from, to) = (URL(string: "http://b.a.example:80/3"), URL(string: "https://b.a.example/3"))
            #expect(events.contains(.redirected(status: 307, from: try #require(from), to: try #require(to))))
        }
        #expect(
            transport.requests.map(\.url.absoluteString)
                == ["http://a.example/1", "https://a.example/2", "https://b.a.example/3"]
        )
        #expect(transport.requests.last?.fields["X-Api-Key"] == "k")
    }

    @Test func `a redirect to a known host over http is followed over https, also from https`() async throws {
        let transport = FakeTransport { request in
            if request.url.path() == "/moved" {
                return FakeTransport.Reply(302, fields: [("Location", "http://a.example/file")])
            }
            return FakeTransport.Reply(fields: [("Content-Length", "5"), Self.field], body: Array("hello".utf8))
        }
        try await run(transport) { manager, folder in
            _ = try await download("https://a.example/first", in: manager, folder)
            for text in ["http://b.example/moved", "https://c.example/moved"] {
                let events = try await download(text, in: manager, folder)
                let target = try #require(URL(string: "https://a.example/file"))
                let isFollowed = events.contains {
                    if case .redirected(302, _, target) = $0 { true } else { false }
                }
                #expect(isFollowed)
            }
        }
        #expect(!transport.requests.contains { $0.url.absoluteString.hasPrefix("http://a.example") })
    }

    @Test func `a file keeps the hosts for the next manager, and is shared`() async throws {
        try await withTemporaryDirectory { place in
            let file = place.appending(path: "hsts")
            try await run(Self.transport(), file: file) { first, folder in
                // The file is created at the start, and another manager changes it meanwhile.
                #expect(FileProbe.size(of: file) != nil)
                try await run(Self.transport(), file: file) { second, folder in
                    _ = try await download("https://b.example/1", in: second, folder)
                }
                _ = try await download("https://a.example/1", in: first, folder)
            }
            let transport = Self.transport()
            try await run(transport, file: file) { manager, folder in
                for text in ["http://a.example/1", "http://b.example/2"] {
                    _ = try await download(text, in: manager, folder)
                }
            }
            #expect(transport.requests.allSatisfy { $0.url.isHTTPS })
            #expect(try FileProbe.names(in: place) == ["hsts"])
        }
    }

    @Test func `a file that has something else is an error and is not replaced`() async throws {
        try await withTemporaryDirectory { place in
            let file = place.appending(path: "film")
            try Data("not hosts".utf8).write(to: file)
            for path in [file, place] {
                let error = await #expect(throws: DownloadError.self) {
                    try await run(Self.transport(), file: path) { _, _ in }
                }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains(path.lastPathComponent) == true)
            }
            #expect(try FileProbe.bytes(of: file) == Array("not hosts".utf8))
            let missing = place.appending(path: "missing/hsts")
            let error = await #expect(throws: DownloadError.self) {
                try await run(Self.transport(), file: missing) { _, _ in }
            }
            #expect(error?.code == .fileSystem)
        }
    }

    @Test func `the end of a suspended process loses no hosts`() async throws {
        try await withTemporaryDirectory { place in
            let file = place.appending(path: "hsts")
            try await run(Self.transport(), file: file) { manager, folder in
                _ = try await download("https://a.example/1", in: manager, folder)
                await manager.prepareForSuspension()
                let text = String(decoding: try FileProbe.bytes(of: file), as: UTF8.self)
                #expect(text.contains("\n.a.example \""))
            }
        }
    }
}
