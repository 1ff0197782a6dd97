import Headrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

/// A manager uses the configured transport.
@Suite(.timeLimit(.minutes(4)))
struct TransportChoiceTests {
    private func fetch(over choice: DownloadConfiguration.TransportChoice) async throws {
        try await withFaultServer(.ok(.pattern(size: 100_000))) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.transport = choice
                    $0.proxy = .none
                }
                let file = try await withDownloadManager(configuration) { manager in
                    let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    return try await manager.download(request).value
                }
                #expect(try FileProbe.bytes(of: file) == Pattern(seed: 1).bytes(in: 0..<100_000))
            }
        }
    }

    @Test func `a file is downloaded with the platform's default transport`() async throws {
        try await fetch(over: .automatic)
    }

    #if os(Linux)
    @Test func `a file is downloaded with libcurl`() async throws {
        try await fetch(over: .libcurl)
    }
    #endif

    #if canImport(Darwin) || URLSession
    @Test func `a file is downloaded with URLSession`() async throws {
        try await fetch(over: .urlSession)
    }

    @Test func `a setting that URLSession cannot honour fails the manager's start`() async throws {
        let configuration = DownloadConfiguration {
            $0.transport = .urlSession
            $0.allowsAddress = { $0.isPublic }
        }
        let error = await #expect(throws: DownloadError.self) {
            try await DownloadManager(configuration: configuration)
        }
        #expect(error?.code == .invalidRequest)
    }
    #else
    @Test func `a transport that is not in this build fails the manager's start`() async throws {
        let configuration = DownloadConfiguration { $0.transport = .urlSession }
        let error = await #expect(throws: DownloadError.self) {
            try await DownloadManager(configuration: configuration)
        }
        #expect(error?.code == .transportUnavailable)
        #expect(error?.message.contains("trait URLSession") == true)
    }
    #endif
}
