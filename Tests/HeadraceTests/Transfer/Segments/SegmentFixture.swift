import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Runs downloads over several connections from servers that misbehave from the second request on.
enum SegmentFixture {
    static let size: Int64 = 6 << 20
    static let file = Resource(size: size, seed: 3, etag: "\"v1\"")
    static let other = Resource(size: size, seed: 4, etag: "\"v2\"")
    /// Slow enough that all connections are open before the first has received its part.
    static let paced = Response.file(file).limited(bytesPerSecond: 2 << 20)

    /// Responds to the first request correctly, but holds the body half-way to the next part until the gate opens.
    static func first(until gate: Gate, then later: Response) -> Response {
        .answering { $0.index == 0 ? .file(file).held(after: size / 8, until: gate) : later }
    }

    /// Responds to the first request correctly, but holds the body half-way until `count` requests have arrived.
    static func first(
        untilRequests count: Int,
        of file: Resource = file,
        then later: Response = paced
    ) throws -> Response {
        let gate = try Gate()
        return .answering { request in
            if request.index + 1 >= count { gate.open() }
            return request.index == 0 ? .file(file).held(after: size / 8, until: gate) : later
        }
    }

    /// Holds the first response until the download has fallen back to one connection, or published another given event.
    static func run(
        first later: Response,
        orElse other: Resource? = nil,
        until isAdvertised: (DownloadEvent) -> Bool = { if case .fellBackToOneConnection = $0 { true } else { false } }
    ) async throws -> ResumeOutcome {
        let gate = try Gate()
        return try await run(first(until: gate, then: later), orElse: other) { if isAdvertised($0) { gate.open() } }
    }

    static func run(
        _ response: Response,
        connections: Int? = 4,
        expecting expected: Resource = file,
        orElse other: Resource? = nil,
        retries: Int = 3,
        onEvent: (DownloadEvent) -> Void = { _ in }
    ) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { folder in
            var outcome = try await ResumeFixture.run(
                response,
                in: folder,
                expecting: expected,
                retries: retries,
                configure: { $0.maxConnectionsPerDownload = connections },
                onEvent: onEvent
            )
            if let other, outcome.difference != nil {
                outcome.difference = other.body.difference(fromFileAt: folder.appending(path: "file.bin"))
            }
            return outcome
        }
    }
}

extension ResumeOutcome {
    /// The ranges of the connections that were opened in addition to the first.
    var opened: [Range<Int64>] {
        events.compactMap { if case .connectionOpened(let range, _, _) = $0 { range } else { nil } }
    }

    /// The reasons why connections were closed.
    var losses: [String] {
        events.compactMap { if case .connectionClosed(let reason, _) = $0 { "\(reason)" } else { nil } }
    }

    /// Why no further connections were opened.
    var fallbacks: [String] {
        events.compactMap { if case .fellBackToOneConnection(let reason, _) = $0 { "\(reason)" } else { nil } }
    }

    /// The number of bytes that were downloaded, including wasted ones.
    var bytesFetched: Int64? {
        events.compactMap { if case .finished(let summary) = $0 { summary.bytesFetched } else { nil } }.last
    }
}
