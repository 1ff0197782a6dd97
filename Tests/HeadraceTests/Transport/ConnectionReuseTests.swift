#if os(Linux)
import HeadracePlatform
import Testing

@testable import Headrace

/// The connections that a request may reuse after another one stalled or failed.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionReuseTests {
    private static let start = SuspendingClock.now

    private static func server(_ url: String, proxy: String? = nil) throws -> ConnectionReuse.Server {
        var request = TransportRequest(url: try #require(URL(string: url)))
        request.proxy = try proxy.map { try ProxyServer(parsing: $0) }
        return ConnectionReuse.Server(request)
    }

    private static func time(_ seconds: Double) -> SuspendingClock.Instant { start + .seconds(seconds) }

    @Test(arguments: [
        (0, ConnectionReuse.Rule.none), (0.5, .none), (2.9, .none), (3, .idle(atMostSeconds: 1)),
        (3.9, .idle(atMostSeconds: 1)), (60.5, .idle(atMostSeconds: 58)), (117.9, .idle(atMostSeconds: 115)),
        (118, .any), (1000, .any),
    ])
    func `only connections used since a suspicion are reused`(
        _ elapsed: Double,
        _ expected: ConnectionReuse.Rule
    ) throws {
        let server = try Self.server("https://example.org/a")
        var reuse = ConnectionReuse()
        #expect(reuse.rule(for: server, at: Self.start) == .any)
        reuse.suspect(server, at: Self.start)
        #expect(reuse.rule(for: server, at: Self.time(elapsed)) == expected)
    }

    @Test(
        arguments: [
            (0, .none), (2.9, .none), (3, .idle(atMostSeconds: 1)), (60.5, .idle(atMostSeconds: 58)), (118, .any),
        ] as [(Double, ConnectionReuse.Rule)]
    )
    func `after a network change only connections used since then are reused, to any server`(
        _ elapsed: Double,
        _ expected: ConnectionReuse.Rule
    ) throws {
        var reuse = ConnectionReuse()
        reuse.suspect(try Self.server("https://example.org/a"), at: Self.time(-10))
        reuse.suspectAll(at: Self.start)
        // The silence began before the network change, which is the later cutoff.
        reuse.stalled(try Self.server("https://example.net/a"), for: .seconds(30), at: Self.start)
        for url in ["https://example.org/a", "http://example.com/"] {
            let server = try Self.server(url)
            #expect(reuse.rule(for: server, at: Self.time(elapsed)) == expected)
        }
    }

    @Test func `the latest suspicion applies`() throws {
        let server = try Self.server("https://example.org/a")
        var reuse = ConnectionReuse()
        reuse.suspect(server, at: Self.start)
        reuse.suspect(server, at: Self.time(10))
        #expect(reuse.rule(for: server, at: Self.time(12)) == .none)
        #expect(reuse.rule(for: server, at: Self.time(20)) == .idle(atMostSeconds: 8))
    }

    @Test(
        arguments: [
            ("https://example.org/b?c", nil, true), ("https://example.org:443/", nil, true),
            ("http://example.org/", nil, false), ("https://example.org:444/", nil, false),
            ("https://www.example.org/", nil, false), ("https://example.org/", "http://proxy.example:3128", false),
        ] as [(String, String?, Bool)]
    )
    func `a failure affects only the connections to its server`(
        _ url: String,
        _ proxy: String?,
        _ isSame: Bool
    ) throws {
        var reuse = ConnectionReuse()
        reuse.suspect(try Self.server("https://example.org/a"), at: Self.start)
        let server = try Self.server(url, proxy: proxy)
        let rule = reuse.rule(for: server, at: Self.start)
        #expect(rule == (isSame ? .none : .any))
    }

    @Test func `a stall affects connections to other servers that were not used since it began`() throws {
        var reuse = ConnectionReuse()
        reuse.stalled(try Self.server("https://example.org/a"), for: .seconds(30), at: Self.start)
        let other = try Self.server("https://example.com/a")
        #expect(reuse.rule(for: other, at: Self.start) == .idle(atMostSeconds: 28))
        #expect(reuse.rule(for: other, at: Self.time(80)) == .idle(atMostSeconds: 108))
        #expect(reuse.rule(for: other, at: Self.time(88)) == .any)
        // A shorter silence started later; a longer one is already covered.
        reuse.stalled(try Self.server("https://example.org/a"), for: .seconds(3), at: Self.time(1))
        #expect(reuse.rule(for: other, at: Self.time(1)) == .idle(atMostSeconds: 1))
        reuse.stalled(try Self.server("https://example.org/a"), for: .seconds(60), at: Self.time(2))
        #expect(reuse.rule(for: other, at: Self.time(2)) == .idle(atMostSeconds: 2))
    }
}

/// The time after which a silent transfer counts as stalled.
@Suite(.timeLimit(.minutes(1)))
struct StallWatchTests {
    private static let start = SuspendingClock.now
    private static let now = start + .seconds(100)

    /// The deadline in seconds after the start, with a time-out of 30 s.
    private static func deadline(silentSince: Double?, isPaused: Bool = false, otherStall: Double? = nil) -> Double {
        var watch = StallWatch(timeout: .seconds(30))
        if let otherStall { watch.otherStalled(at: start + .seconds(otherStall)) }
        let since = silentSince.map { start + .seconds($0) }
        return (watch.deadline(silentSince: since, isPaused: isPaused, at: now) - start) / .seconds(1)
    }

    @Test func `the stall deadline is measured from the last byte`() {
        #expect(Self.deadline(silentSince: 90) == 120)
        #expect(Self.deadline(silentSince: 10) == 40)
    }

    @Test func `connecting and a full reader are not silence`() {
        #expect(Self.deadline(silentSince: nil) == 101)
        #expect(Self.deadline(silentSince: nil, isPaused: true) == 130)
    }

    @Test(arguments: [(80, 95), (95, 110), (96, 126)] as [(Double, Double)])
    func `a transfer that is silent when another stalls has half the time`(_ since: Double, _ expected: Double) {
        #expect(Self.deadline(silentSince: since, otherStall: 95) == expected)
        #expect(Self.deadline(silentSince: nil, isPaused: true, otherStall: 95) == 130)
    }
}
#endif
