import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads over HTTP/2 connections that die silently: data sent on them is never read.
@Suite(.timeLimit(.minutes(4)), .enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"))
struct HTTP2StallTests {
    private typealias Fixture = HTTP2Fixture

    /// One retry and, by default, one connection.
    private static func run(
        connections: Int? = 1,
        settings: [(identifier: UInt16, value: UInt32)] = [],
        script: @escaping @Sendable (RecordedRequest) -> [HTTP2Step]
    ) async throws -> HTTP2Outcome {
        try await Fixture.run(
            settings: settings,
            retries: 1,
            configure: {
                $0.stallTimeout = .seconds(1)
                $0.maxConnectionsPerDownload = connections
            },
            script: script
        )
    }

    @Test func `a body that stalls is resumed over a fresh connection`() async throws {
        let outcome = try await Self.run { request in
            request.index == 0 ? [Fixture.head, Fixture.part, .stall] : HTTP2Step.file(Fixture.file, for: request)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.ranges == [nil, "bytes=\(Fixture.cut)-"])
        #expect(outcome.requests.map(\.connection) == [0, 1])
        #expect(outcome.events.stalls == 1)
    }

    @Test func `a response that never begins is requested over a fresh connection`() async throws {
        let outcome = try await Self.run { request in
            request.index == 0 ? [.stall] : HTTP2Step.file(Fixture.file, for: request)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.map(\.connection) == [0, 1])
    }

    @Test func `a body of known length is complete even if its stream never ends`() async throws {
        let outcome = try await Self.run { request in
            request.index == 0 ? [Fixture.head, .data(Fixture.file.body), .stall] : [.reset(.internalError)]
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1)
    }

    @Test func `a body without a length whose stream never ends is verified over a fresh connection`() async throws {
        let outcome = try await Self.run { request in
            request.index == 0
                ? [Fixture.unboundedHead, .data(Fixture.file.body), .stall]
                : HTTP2Step.file(Fixture.file, for: request)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.ranges == [nil, "bytes=\(Fixture.size)-"])
        #expect(Set(outcome.requests.map(\.connection)).count == 2)
    }

    @Test func `a server that never sends anything stalls, and its downloads fail`() async throws {
        let outcome = try await Self.run { _ in [.stall] }
        #expect(outcome.error?.code == .stalled)
        #expect(outcome.requests.map(\.connection) == [0, 1])
        #expect(!outcome.names.contains("file.bin"))
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS is zero.
    @Test func `a server that allows no streams causes a stall or serves the file`() async throws {
        let outcome = try await Self.run(settings: [(3, 0)]) { HTTP2Step.file(Fixture.file, for: $0) }
        #expect(outcome.isExact || outcome.error?.code == .stalled, "\(outcome)")
    }

    @Test func `silent connections of one download cost one time-out and no retry`() async throws {
        let part = HTTP2Step.data(Fixture.file.body.slice(0..<Fixture.cut / 8))
        let outcome = try await Self.run(connections: 3) { request in
            guard request.index < 3 else { return HTTP2Step.file(Fixture.file, for: request) }
            guard request["Range"] != nil else { return [Fixture.head, part, .stall] }
            return Array(HTTP2Step.file(Fixture.file, for: request).prefix(1)) + [.stall]
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count > 3)
        #expect(outcome.requests.dropFirst(3).allSatisfy { $0.connection >= 3 })
        #expect(outcome.events.stalls == 0, "\(outcome.events)")
    }
}

extension [DownloadEvent] {
    /// How often the download was tried again because it had stalled.
    var stalls: Int {
        count { if case .retrying(let error, _, _) = $0 { error.code == .stalled } else { false } }
    }
}
