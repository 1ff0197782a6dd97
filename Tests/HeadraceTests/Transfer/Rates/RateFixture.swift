import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// Downloads below limits, over fake connections that give all at once, in a time that the test moves.
struct RateFixture {
    /// Bytes that came to the disk.
    struct Write: Sendable {
        var time: Duration
        var bytes: Int
    }

    /// What the closures of a fixture share.
    private final class Records: Sendable {
        let writes = Locked<[Write]>([])
        /// The open partials: of the files that are written, they alone are locked.
        let partials = Locked<Set<Int32>>([])
        let localTime = Locked(LocalTime(.monday, minute: 0))
    }

    /// What one wait lets in at the most beyond the rate.
    static let burst = 0.12

    let clock = TestClock()
    let manager: DownloadManager
    let folder: URL
    private let records = Records()

    init(in folder: URL, configure: (inout DownloadConfiguration) -> Void = { _ in }) async throws {
        self.folder = folder
        var calls = FileSystem.system
        calls.write = { [records, clock] file, bytes, offset throws(SystemError) in
            let count = try FileSystem.system.write(file, bytes, offset)
            guard records.partials.withLock({ $0.contains(file) }) else { return count }
            records.writes.withLock { $0.append(Write(time: clock.now.offset, bytes: count)) }
            return count
        }
        calls.lock = { [records] file throws(SystemError) in
            let isLocked = try FileSystem.system.lock(file)
            if isLocked { records.partials.withLock { _ = $0.insert(file) } }
            return isLocked
        }
        calls.close = { [records] file throws(SystemError) in
            records.partials.withLock { _ = $0.remove(file) }
            try FileSystem.system.close(file)
        }
        manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.durability = .none
                    configure(&$0)
                },
                transport: FakeTransport(chunkBytes: 64 << 10) { DiskFixture.response($0) },
                files: calls,
                clock: AnyClock(clock),
                localTime: { [records] in records.localTime.withLock { $0 } }
            )
        )
    }

    var writes: [Write] { records.writes.withLock { $0 } }
    var writtenBytes: Int { writes.reduce(0) { $0 + $1.bytes } }

    func setLocalTime(_ time: LocalTime) {
        records.localTime.withLock { $0 = time }
    }

    func add(_ name: String = "a", _ change: (inout DownloadRequest) -> Void = { _ in }) async throws -> Download {
        guard let url = URL(string: "http://example.org/\(name)") else { throw DownloadError(.invalidRequest, name) }
        var request = DownloadRequest(url, to: .directory(folder))
        change(&request)
        return try await manager.download(request)
    }

    /// Moves the time on whenever so many connections wait for it, until the body ends.
    func moving<Result: Sendable>(
        waiters: Int = 1,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        async let _: Void = move(waiters)
        return try await body()
    }

    /// Waits until so many connections wait for the time; beside each of them somebody waits to tell of its silence.
    func waits(_ connections: Int = 1) async throws {
        try await clock.sleepers { $0.count >= 2 * connections }
    }

    private func move(_ waiters: Int) async {
        while (try? await waits(waiters)) != nil {
            guard let next = clock.deadlines.first else { continue }
            clock.advance(by: max(.milliseconds(1), clock.now.duration(to: next)))
        }
    }

    /// The most bytes that came in any time, beyond what the limit allows for it: at most a burst.
    func excess(over limit: Int) -> Double {
        var (most, low, sum) = (0.0, 0.0, 0.0)
        for write in writes {
            let budget = Double(limit) * (write.time / .seconds(1))
            low = min(low, sum - budget)
            sum += Double(write.bytes)
            most = max(most, sum - budget - low)
        }
        return most
    }
}
