import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// One download from a scripted HTTP/2 server.
struct HTTP2Outcome {
    var error: DownloadError?
    /// Where the file differs from what it should be; `nil` if it is exact.
    var difference: FileDifference?
    /// The names in the folder at the end.
    var names: [String]
    /// The requests over HTTP/2.
    var requests: [RecordedRequest]
    /// The requests that the fallback server received over HTTP/1.1.
    var fallbackRequests: [RecordedRequest]
    var events: [DownloadEvent]

    var isExact: Bool { error == nil && difference == nil && names == ["file.bin"] }

    var ranges: [String?] { requests.map { $0["Range"] } }

    var isLengthVerified: Bool? {
        events.compactMap { if case .finished(let summary) = $0 { summary.isLengthVerified } else { nil } }.last
    }
}

/// Runs downloads from scripted HTTP/2 servers, with retries that do not wait.
enum HTTP2Fixture {
    static let size: Int64 = 3 << 20
    static let cut: Int64 = 1 << 20
    static let file = Resource(size: size)

    /// The head of the whole file without a length.
    static let unboundedHead = HTTP2Step.head(200, [("etag", "\"v1\""), ("accept-ranges", "bytes")])
    /// The head of the whole file with its length.
    static let head = HTTP2Step.head(
        200,
        [("etag", "\"v1\""), ("content-length", "\(size)"), ("accept-ranges", "bytes")]
    )
    /// The first part of the file, after which a script truncates it.
    static let part = HTTP2Step.data(file.body.slice(0..<cut))

    static func run(
        settings: [(identifier: UInt16, value: UInt32)] = [],
        fallback: Response? = nil,
        retries: Int = 3,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in },
        script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step]
    ) async throws -> HTTP2Outcome {
        // Counts as another transfer: a single one would use HTTP/1.1.
        _ = DescriptorShare.system.admit(isOnly: true)
        defer { DescriptorShare.system.transferEnded() }
        return try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            let files = folder.appending(path: "files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
            return try await withFaultServer(fallback ?? .status(500)) { server in
                let fallbackServer = fallback == nil ? nil : server
                return try await withHTTP2Server(settings: settings, fallback: fallbackServer, script: script) {
                    origin in
                    var configuration = DownloadConfiguration {
                        $0.retryPolicy.maxFailures = retries
                        $0.retryPolicy.baseDelay = .zero
                        $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                        $0.maxConnectionsPerDownload = 1
                        $0.certificateAuthorities = authority
                    }
                    configure(&configuration)
                    return try await withDownloadManager(configuration) { manager in
                        var request = DownloadRequest(origin.url("/file.bin"), to: .directory(files))
                        change(&request)
                        let download = try await manager.download(request)
                        return try await outcome(of: download, from: origin, server, in: files)
                    }
                }
            }
        }
    }

    /// Runs the body with a scripted server and a transport that trusts it.
    static func withTransport(
        settings: [(identifier: UInt16, value: UInt32)] = [],
        maxConnections: Int = 16,
        script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step],
        _ body: (HTTP2Server, any Transport) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            try await withHTTP2Server(settings: settings, script: script) { server in
                let transport = try DownloadConfiguration {
                    $0.maxConnectionsPerHost = maxConnections
                    $0.certificateAuthorities = authority
                    $0.proxy = .none
                }.makeTransport()
                do {
                    try await body(server, transport)
                    await transport.shutdown()
                } catch {
                    await transport.shutdown()
                    throw error
                }
            }
        }
    }

    private static func outcome(
        of download: Download,
        from origin: HTTP2Server,
        _ fallback: FaultServer,
        in folder: URL
    ) async throws -> HTTP2Outcome {
        let events = await download.events.reduce(into: []) { $0.append($1) }
        var failure: DownloadError?
        do {
            _ = try await download.value
        } catch let error as DownloadError {
            failure = error
        }
        return HTTP2Outcome(
            error: failure,
            difference: file.body.difference(fromFileAt: folder.appending(path: "file.bin")),
            names: try FileProbe.names(in: folder),
            requests: origin.requests,
            fallbackRequests: fallback.requests,
            events: events
        )
    }
}
