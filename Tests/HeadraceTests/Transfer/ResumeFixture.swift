import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The outcome of a download that is cut at least once.
struct ResumeOutcome {
    var error: DownloadError?
    /// Where the file differs from what it should be; `nil` if it is exact.
    var difference: FileDifference?
    /// The names in the folder at the end.
    var names: [String]
    var requests: [RecordedRequest]
    var events: [DownloadEvent]

    var isExact: Bool { error == nil && difference == nil && names == ["file.bin"] }

    /// The discarded bytes, by reason.
    var restarts: [(reason: RestartReason, bytes: Int64)] {
        events.compactMap { if case .restarted(let reason, let bytes) = $0 { (reason, bytes) } else { nil } }
    }

    /// The offsets from which the download resumed.
    var resumes: [Int64] {
        events.compactMap { if case .resumed(let offset, _, _) = $0 { offset } else { nil } }
    }

    var ranges: [String?] { requests.map { $0["Range"] } }
    var ifRanges: [String?] { requests.map { $0["If-Range"] } }
}

/// Runs downloads whose first responses are cut, with retries that do not wait.
enum ResumeFixture {
    static let size: Int64 = 300_000
    static let cut: Int64 = 120_000
    static let old = Resource(size: size, seed: 1, etag: "\"v1\"")
    static let new = Resource(size: size, seed: 2, etag: "\"v2\"")

    /// The first response, cut; then `second`, then `last`.
    static func afterCut(
        of first: Resource = old,
        _ second: Response,
        then last: Response? = nil,
        expecting expected: Resource = old,
        retries: Int = 3,
        policy: DownloadRequest.ResumePolicy = .validated
    ) async throws -> ResumeOutcome {
        let response = Response.sequence([.file(first).truncated(after: cut), second], then: last ?? second)
        return try await withTemporaryDirectory { folder in
            try await run(response, in: folder, expecting: expected, retries: retries, policy: policy)
        }
    }

    /// One run of a download into a folder.
    static func run(
        _ response: Response,
        in folder: URL,
        expecting expected: Resource = old,
        retries: Int = 3,
        policy: DownloadRequest.ResumePolicy = .validated,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in },
        onEvent: (DownloadEvent) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await withFaultServer(response) { server in
            try await run(
                from: server,
                in: folder,
                expecting: expected,
                retries: retries,
                policy: policy,
                configure: configure,
                change: change,
                onEvent: onEvent
            )
        }
    }

    static func run(
        from server: FaultServer,
        through proxy: FaultProxy? = nil,
        in folder: URL,
        expecting expected: Resource = old,
        retries: Int = 3,
        policy: DownloadRequest.ResumePolicy = .validated,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in },
        onEvent: (DownloadEvent) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        var configuration = DownloadConfiguration {
            $0.retryPolicy.maxFailures = retries
            $0.retryPolicy.baseDelay = .zero
            $0.retryPolicy.maxRetriesPerHostAndMinute = nil
        }
        configure(&configuration)
        return try await withDownloadManager(configuration) { manager in
            var request = DownloadRequest(
                proxy?.url("/file.bin") ?? server.url("/file.bin"),
                to: .directory(folder),
                resumePolicy: policy
            )
            change(&request)
            let download = try await manager.download(request)
            return try await outcome(of: download, from: server, in: folder, expecting: expected, onEvent: onEvent)
        }
    }

    /// Runs one download from `/a`, with the other paths as its mirrors in order.
    static func run(
        withMirrors routes: [String: Response],
        expecting expected: Resource = old,
        retries: Int = 0,
        change: (inout DownloadRequest) -> Void = { _ in },
        configure: (inout DownloadConfiguration) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(routes)) { server in
                try await run(from: server, in: folder, expecting: expected, retries: retries, configure: configure) {
                    $0.url = server.url("/a")
                    $0.destination = .file(folder.appending(path: "file.bin"))
                    $0.mirrors = routes.keys.sorted().dropFirst().map { server.url($0) }
                    change(&$0)
                }
            }
        }
    }

    /// Observes a download to its end and returns its outcome.
    static func outcome(
        of download: Download,
        from server: FaultServer,
        in folder: URL,
        expecting expected: Resource,
        onEvent: (DownloadEvent) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        var events: [DownloadEvent] = []
        for await event in download.events {
            events.append(event)
            onEvent(event)
        }
        var failure: DownloadError?
        do {
            _ = try await download.value
        } catch let error as DownloadError {
            failure = error
        }
        return ResumeOutcome(
            error: failure,
            difference: expected.body.difference(fromFileAt: folder.appending(path: "file.bin")),
            names: try FileProbe.names(in: folder),
            requests: server.requests,
            events: events
        )
    }
}
