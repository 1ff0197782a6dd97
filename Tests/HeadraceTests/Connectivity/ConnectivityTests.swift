import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads without retries on a network that comes, goes and changes.
@Suite(.timeLimit(.minutes(4)))
struct ConnectivityTests {
    private static let up = NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.2"])
    private static let moved = NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.3"])
    private static let down = NetworkPath(isUp: false, interface: .loopback)
    private static let mobile = NetworkPath(isUp: true, interface: .cellular, isExpensive: true)
    /// Less than one chunk of the fake transport, so that they all arrive at once.
    private static let firstBytes = 60_000

    /// Returns the reply to a request, given its number; may change the network.
    private typealias Reply = @Sendable (Int, TransportRequest, NetworkMonitor) throws -> FakeTransport.Reply

    private static let whole: Reply = { _, request, _ in DiskFixture.response(request) }

    /// A part of the file, followed by silence.
    private static let silentFirst: Reply = { number, request, network in
        number == 0
            ? FakeTransport.Reply(DiskFixture.response(request, sending: firstBytes), end: .silence)
            : DiskFixture.response(request)
    }

    private struct Fixture {
        let manager: DownloadManager
        let transport: FakeTransport
        let network: NetworkMonitor
        let folder: URL

        func download(_ change: (inout DownloadRequest) -> Void = { _ in }) async throws -> Download {
            var request = try DiskFixture.request(to: .directory(folder))
            change(&request)
            return try await manager.download(request)
        }

        /// Returns when the first bytes have arrived and the server is silent.
        func begin(_ download: Download) async {
            for await progress in download.progress where progress.bytesReceived > 0 { break }
        }

        /// Expects the exact file and these request offsets.
        func expectExact(
            _ download: Download,
            starts: [Int],
            _ location: SourceLocation = #_sourceLocation
        ) async throws {
            let file = try await download.value
            #expect(DiskFixture.isExact(file), sourceLocation: location)
            #expect(transport.requests.map(DiskFixture.start) == starts, sourceLocation: location)
            var events: [DownloadEvent] = []
            for await event in download.events { events.append(event) }
            #expect(events.count { $0 == .started } == 1, sourceLocation: location)
        }
    }

    private func hold(_ download: Download) async {
        for await event in download.events { if case .waitingForNetwork = event { break } }
    }

    /// Runs a manager whose first replies are `response` and whose later ones are complete.
    private func withManager(
        on path: NetworkPath?,
        waits: Bool = true,
        retries: Int = 0,
        clock: any Clock<Duration> = ContinuousClock(),
        socket: URL? = nil,
        response: @escaping Reply = silentFirst,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let network = NetworkMonitor(fixed: path)
        let transport = FakeTransport(numbered: { try response($0, $1, network) })
        try await withTemporaryDirectory { folder in
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.retryPolicy.maxFailures = retries
                        $0.retryPolicy.baseDelay = .zero
                        $0.maxConnectionsPerDownload = 1
                        $0.waitsForConnectivity = waits
                        $0.connectionPolicy.unixSocket = socket
                    },
                    transport: transport,
                    clock: AnyClock(clock),
                    network: network
                )
            )
            try await body(Fixture(manager: manager, transport: transport, network: network, folder: folder))
            await manager.shutdown()
        }
    }

    @Test func `a download whose network is lost waits with that reason and resumes when it is back`() async throws {
        try await withManager(on: Self.up) { list in
            let download = try await list.download()
            await list.begin(download)
            list.network.update(Self.down)
            await hold(download)
            #expect(download.state == .waiting)
            #expect(download.networkBlocker == .offline)
            #expect(await list.manager.currentSnapshots().map(\.networkBlocker) == [.offline])
            list.network.update(Self.up)
            try await list.expectExact(download, starts: [0, Self.firstBytes])
            #expect(download.networkBlocker == nil)
        }
    }

    @Test func `a download added without a network sends no request until there is one`() async throws {
        try await withManager(on: Self.down, response: Self.whole) { list in
            let download = try await list.download()
            await hold(download)
            #expect(list.transport.requests.isEmpty)
            list.network.update(Self.up)
            try await list.expectExact(download, starts: [0])
        }
    }

    @Test func `a download over a UNIX socket needs no network`() async throws {
        try await withManager(on: Self.down, socket: URL(filePath: "/run/s"), response: Self.whole) { list in
            let download = try await list.download { $0.networkPolicy = .notExpensive }
            #expect(download.networkBlocker == nil)
            try await list.expectExact(download, starts: [0])
        }
    }

    @Test func `connections from a removed address are replaced at once, and their bytes are kept`() async throws {
        try await withManager(on: Self.up) { list in
            let download = try await list.download()
            await list.begin(download)
            list.network.update(Self.moved)
            try await list.expectExact(download, starts: [0, Self.firstBytes])
            #expect(list.transport.dropCount == 1)
        }
    }

    @Test func `an additional address changes nothing`() async throws {
        try await withManager(on: Self.up) { list in
            let download = try await list.download()
            await list.begin(download)
            list.network.update(
                NetworkPath(isUp: true, localEndpoints: Self.up.localEndpoints.union(["eth0 2001:db8::2"]))
            )
            // Waiting for this update ensures that the previous one has been processed.
            list.network.update(Self.down)
            await hold(download)
            #expect(list.transport.requests.count == 1)
            #expect(list.transport.dropCount == 0)
        }
    }

    @Test func `a failure without a network waits for the network and does not count as a retry`() async throws {
        let failsFirst: Reply = { number, request, network in
            guard number == 0 else { return DiskFixture.response(request) }
            network.update(Self.down)
            throw DownloadError(.connection, "The network is unreachable.")
        }
        try await withManager(on: Self.up, response: failsFirst) { list in
            let download = try await list.download()
            await hold(download)
            #expect(download.networkBlocker == .offline)
            list.network.update(Self.up)
            try await list.expectExact(download, starts: [0, 0])
        }
    }

    @Test func `a failure just after the network returned does not count as a retry`() async throws {
        let clock = TestClock()
        let failsFirst: Reply = { number, request, _ in
            guard number == 0 else { return DiskFixture.response(request) }
            throw DownloadError(.connection, "No route to host.")
        }
        try await withManager(on: Self.down, clock: clock, response: failsFirst) { list in
            let download = try await list.download()
            await hold(download)
            list.network.update(Self.up)
            try await clock.sleeperArmed(for: .milliseconds(100))
            clock.advance(by: .milliseconds(100))
            try await list.expectExact(download, starts: [0, 0])
        }
    }

    @Test func `a failure on a network that has been up for a while counts as the server's`() async throws {
        let clock = TestClock()
        let fails: Reply = { _, _, _ in
            clock.advance(by: NetworkAdmission.settlingTime)
            throw DownloadError(.connection, "No route to host.")
        }
        try await withManager(on: Self.down, clock: clock, response: fails) { list in
            let download = try await list.download()
            await hold(download)
            list.network.update(Self.up)
            let error = await #expect(throws: DownloadError.self) { try await download.value }
            #expect(error?.code == .connection)
            #expect(list.transport.requests.count == 1)
        }
    }

    @Test func `a network policy delays only its own download`() async throws {
        try await withManager(on: Self.mobile, response: Self.whole) { list in
            let held = try await list.download { $0.networkPolicy = .notExpensive }
            let other = try await list.download { $0.destination = .file(list.folder.appending(path: "other")) }
            let file = try await other.value
            #expect(DiskFixture.isExact(file))
            await hold(held)
            #expect(held.networkBlocker == .expensive)
            list.network.update(Self.up)
            let isExact = DiskFixture.isExact(try await held.value)
            #expect(isExact)
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]"])
    func `a loopback host is reachable without a network`(_ host: String) async throws {
        try await withManager(on: Self.down, response: Self.whole) { list in
            let url = try #require(URL(string: "http://\(host)/file.bin"))
            let download = try await list.download {
                $0.url = url
                $0.networkPolicy = .wifiOrWired
            }
            try await list.expectExact(download, starts: [0])
        }
    }

    @Test func `without waiting for connectivity, a download uses its retries and fails`() async throws {
        let failure: Reply = { _, _, _ in
            throw DownloadError(.connection, "The network is unreachable.")
        }
        try await withManager(on: Self.down, waits: false, retries: 2, response: failure) { list in
            let download = try await list.download()
            let error = await #expect(throws: DownloadError.self) { try await download.value }
            #expect(error?.code == .connection)
            #expect(list.transport.requests.count == 3)
        }
    }

    @Test func `without network information, downloads run`() async throws {
        try await withManager(on: nil, response: Self.whole) { list in
            let download = try await list.download { $0.networkPolicy = .wifiOrWired }
            try await list.expectExact(download, starts: [0])
        }
    }

    @Test func `a download that waits for a network can be paused, resumed and cancelled`() async throws {
        try await withManager(on: Self.up) { list in
            let download = try await list.download()
            await list.begin(download)
            list.network.update(Self.down)
            await hold(download)
            await download.pause()
            #expect(download.state == .paused)
            await download.resume()
            #expect(download.networkBlocker == .offline)
            await download.cancel()
            #expect(download.state == .cancelled)
            #expect(try FileProbe.names(in: list.folder).isEmpty)
        }
    }
}
