import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// Downloads with rate limits, over fake connections that deliver everything at once, on a test clock.
struct RateFixture {
    /// A write to the disk.
    struct Write: Sendable {
        var time: Duration
        var bytes: Int
    }

    /// The state that the closures of a fixture share.
    private final class Records: Sendable {
        let writes = Locked<[Write]>([])
        /// The descriptors of the open partial files, which are the only locked files that are written.
        let partials = Locked<Set<Int32>>([])
        let localTime = Locked(LocalTime(.monday, minute: 0))
    }

    /// The time, in seconds, whose bytes may be granted at once in addition to the rate.
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

    /// Advances the clock whenever this many connections wait for it, until the body returns.
    func moving<Result: Sendable>(
        waiters: Int = 1,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        async let _: Void = move(waiters)
        return try await body()
    }

    /// Waits until this many connections sleep; each connection also has a sleeping stall timer.
    func waits(_ connections: Int = 1) async throws {
        try await clock.sleepers { $0.count >= 2 * connections }
    }

    private func move(_ waiters: Int) async {
        while (try? await waits(waiters)) != nil {
            guard let next = clock.deadlines.first else { continue }
            clock.advance(by: max(.milliseconds(1), clock.now.duration(to: next)))
        }
    }

    /// Returns the most bytes by which the writes in any interval exceeded the limit; one burst is allowed.
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
