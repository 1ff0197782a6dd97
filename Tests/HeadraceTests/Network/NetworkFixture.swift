import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The outcome of one download.
struct NetworkOutcome {
    var error: DownloadError?
    var bytes: [UInt8]?
    /// The text of its events and its error.
    var log: String
}

/// Runs downloads of small files over various routes to a server.
enum NetworkFixture {
    static func run(
        _ url: URL,
        headers: [HeaderField] = [],
        _ configure: (inout DownloadConfiguration) -> Void = { _ in }
    ) async throws -> NetworkOutcome {
        try await withTemporaryDirectory { folder in
            try await withDownloadManager(configuration(configure)) { manager in
                try await run(url, headers: headers, in: manager, folder)
            }
        }
    }

    static func configuration(
        _ configure: (inout DownloadConfiguration) -> Void
    ) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.retryPolicy.maxFailures = 0
            $0.proxy = .none
            configure(&$0)
        }
    }

    static func run(
        _ url: URL,
        headers: [HeaderField] = [],
        in manager: DownloadManager,
        _ folder: URL
    ) async throws -> NetworkOutcome {
        let download = try await manager.download(DownloadRequest(url, to: .directory(folder), headers: headers))
        var log = ""
        for await event in download.events { log += "\(event)\n" }
        switch download.state {
        case .finished(let file): return NetworkOutcome(bytes: try FileProbe.bytes(of: file), log: log)
        case .failed(let error):
            return NetworkOutcome(error: error, log: "\(log)\(error)\n\(String(reflecting: error))")
        case let state: throw DownloadError(.cancelled, "\(state)")
        }
    }
}

extension URL {
    /// The same URL with a user and a password.
    func with(login: String) throws -> URL {
        try #require(URL(string: absoluteString.replacing("://", with: "://\(login)@")))
    }

    /// The same URL at another host.
    func at(host: String) throws -> URL {
        try #require(URL(string: absoluteString.replacing("127.0.0.1", with: host)))
    }
}
