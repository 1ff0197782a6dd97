import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads with rate limits.
@Suite(.timeLimit(.minutes(4)))
struct RateLimitTests {
    private let size = DiskFixture.size

    @Test(arguments: [50_000, 100_000, 2_000_000])
    func `the bytes received never exceed the limit, and no allowance is wasted`(_ limit: Int) async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.rateLimit = Int64(limit) }
            let download = try await fixture.add()
            let file = try await fixture.moving { try await download.value }
            #expect(DiskFixture.isExact(file))
            #expect(fixture.excess(over: limit) <= Double(limit) * RateFixture.burst + 1)
            let least = Double(size) / Double(limit)
            let taken = fixture.clock.now.offset / .seconds(1)
            #expect(taken >= least - RateFixture.burst && taken <= least + 0.2)
            await fixture.manager.shutdown()
        }
    }

    @Test func `the lowest limit of a download applies`() async throws {
        for lowest in 0..<3 {
            try await withTemporaryDirectory { folder in
                let limits = (0..<3).map { Int64($0 == lowest ? 200_000 : 5_000_000) }
                let fixture = try await RateFixture(in: folder) {
                    $0.rateLimit = limits[0]
                    $0.groupRateLimits = ["g": limits[1]]
                }
                let download = try await fixture.add {
                    $0.group = "g"
                    $0.rateLimit = limits[2]
                }
                #expect(download.rateLimit == limits[2])
                _ = try await fixture.moving { try await download.value }
                #expect(fixture.excess(over: 200_000) <= 200_000 * RateFixture.burst + 1)
                #expect(fixture.clock.now.offset < .milliseconds(size / 200 + 200))
                await fixture.manager.shutdown()
            }
        }
    }

    @Test func `a group shares its limit, and other downloads are not affected`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.groupRateLimits = ["g": 100_000] }
            let downloads = [
                try await fixture.add("a") { $0.group = "g" }, try await fixture.add("b") { $0.group = "g" },
            ]
            try await fixture.waits(2)
            // No time passes on the clock.
            let free = try await fixture.add("c")
            #expect(DiskFixture.isExact(try await free.value))
            #expect(fixture.clock.now.offset == .zero)
            _ = try await fixture.moving(waiters: 2) {
                for await progress in downloads[0].progress where progress.bytesReceived > 400_000 { break }
            }
            let counts = downloads.map { Double($0.record.status.progress.bytesReceived) }
            #expect(abs(counts[0] - counts[1]) < 40_000, "\(counts)")
            #expect(fixture.excess(over: 100_000) <= 100_000 * RateFixture.burst + Double(size) + 1)
            await fixture.manager.shutdown()
        }
    }

    @Test func `a changed or removed limit applies within 200 ms`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.rateLimit = 100_000 }
            let (manager, clock) = (fixture.manager, fixture.clock)
            let download = try await fixture.add()
            func run(for time: Duration) async throws -> Int {
                let (start, before) = (clock.now, fixture.writtenBytes)
                while clock.now.offset - start.offset < time {
                    try await fixture.waits()
                    clock.advance(by: .milliseconds(10))
                }
                try await fixture.waits()
                return fixture.writtenBytes - before
            }
            _ = try await run(for: .seconds(1))
            try await manager.setRateLimit(1000)
            #expect(manager.rateLimit == 1000)
            _ = try await run(for: .milliseconds(200))
            #expect(abs(try await run(for: .seconds(2)) - 2000) < 200)
            try await manager.setRateLimit(200_000)
            _ = try await run(for: .milliseconds(200))
            #expect(abs(try await run(for: .seconds(2)) - 400_000) < 40_000)
            try await download.setRateLimit(1000)
            _ = try await run(for: .milliseconds(200))
            #expect(abs(try await run(for: .seconds(2)) - 2000) < 200)
            try await download.setRateLimit(nil)
            try await manager.setRateLimit(nil)
            clock.advance(by: .milliseconds(200))
            #expect(DiskFixture.isExact(try await download.value))
            await manager.shutdown()
            #expect(clock.deadlines == [])
        }
    }

    @Test func `a download waiting for a limit can be paused and cancelled at once`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.rateLimit = 1_000_000 }
            let download = try await fixture.add()
            try await fixture.waits()
            fixture.clock.advance(by: .milliseconds(50))
            try await fixture.waits()
            let before = fixture.writtenBytes
            #expect(before >= 50_000)
            await download.pause()
            #expect(download.state == .paused)
            #expect(fixture.clock.deadlines == [])
            #expect(FileProbe.size(of: download.partialFile) == Int64(before))
            await download.resume()
            try await fixture.waits()
            await download.cancel()
            #expect(download.state == .cancelled)
            #expect(fixture.clock.deadlines == [])
            #expect(try FileProbe.names(in: folder) == [])
            let last = try await fixture.add("b")
            try await fixture.waits()
            await fixture.manager.shutdown()
            #expect(fixture.clock.deadlines == [])
            #expect(last.state.kind == .failed)
        }
    }

    @Test func `limits follow the schedule, and the lower of two applies`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) {
                $0.rateSchedule = RateSchedule("Mon 00:00-00:01 1000, Mon 00:01-00:02 50K, else none")
                $0.rateLimit = 10_000
            }
            let (manager, clock) = (fixture.manager, fixture.clock)
            fixture.setLocalTime(LocalTime(.monday, minute: 0, second: 58))
            #expect(manager.rateLimit == 1000)
            let download = try await fixture.add()
            for _ in 0..<20 {
                try await fixture.waits()
                clock.advance(by: .milliseconds(100))
            }
            try await fixture.waits()
            let early = fixture.writtenBytes
            #expect((1800...2200).contains(early), "\(early)")
            // The schedule is checked again at the end of the minute at the latest.
            fixture.setLocalTime(LocalTime(.monday, minute: 1, second: 0))
            clock.advance(by: .seconds(60))
            try await fixture.waits()
            #expect(manager.rateLimit == 10_000)
            await manager.setRateSchedule(nil)
            try await manager.setRateLimit(nil)
            #expect(manager.rateLimit == nil)
            clock.advance(by: .milliseconds(200))
            #expect(DiskFixture.isExact(try await download.value))
            await manager.shutdown()
        }
    }

    @Test func `the reported speed matches the limit without jumps`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.rateLimit = 100_000 }
            let download = try await fixture.add()
            let speeds = try await fixture.moving {
                var speeds: [Double] = []
                for await progress in download.progress where progress.bytesReceived > 500_000 {
                    if progress.bytesReceived < Int64(DiskFixture.size) { speeds.append(progress.bytesPerSecond) }
                }
                return speeds
            }
            #expect(!speeds.isEmpty)
            #expect(speeds.allSatisfy { (90_000...110_000).contains($0) }, "\(speeds)")
            await fixture.manager.shutdown()
        }
    }

    @Test func `a limit that is not positive is rejected`() async throws {
        for change: @Sendable (inout DownloadConfiguration) -> Void in [
            { $0.rateLimit = 0 }, { $0.rateLimit = -1 }, { $0.groupRateLimits = ["g": 0] },
        ] {
            let error = await #expect(throws: DownloadError.self) {
                try await DownloadManager(configuration: .init { change(&$0) })
            }
            #expect(error?.code == .invalidRequest)
        }
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder) { $0.rateLimit = 1000 }
            let download = try await fixture.add()
            await #expect(throws: DownloadError.self) { try await fixture.manager.setRateLimit(0) }
            await #expect(throws: DownloadError.self) { try await fixture.manager.setRateLimit(-1, ofGroup: "g") }
            await #expect(throws: DownloadError.self) { try await download.setRateLimit(0) }
            await #expect(throws: DownloadError.self) { try await fixture.add("b") { $0.rateLimit = 0 } }
            #expect(fixture.manager.rateLimit == 1000)
            #expect(download.rateLimit == nil)
            #expect(fixture.manager.rateLimit(ofGroup: "g") == nil)
            await fixture.manager.shutdown()
        }
    }

    @Test func `a download's own limit and state are restored after a restart`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = folder.appending(path: "list", directoryHint: .isDirectory)
            var fixture = try await RateFixture(in: folder) { $0.registryDirectory = registry }
            for (name, limit) in [("a", Int64?.some(7)), ("b", nil)] {
                let download = try await fixture.add(name) {
                    $0.startsPaused = true
                    $0.rateLimit = 5
                }
                try await download.setRateLimit(limit)
            }
            await fixture.manager.shutdown()
            fixture = try await RateFixture(in: folder) { $0.registryDirectory = registry }
            let downloads = await fixture.manager.downloads
            #expect(downloads.map(\.rateLimit) == [7, nil])
            #expect(downloads.allSatisfy { $0.state == .paused })
            await fixture.manager.shutdown()
        }
    }

    @Test func `the buffer size follows the limit`() async throws {
        try await withTemporaryDirectory { folder in
            let fixture = try await RateFixture(in: folder)
            let rates = fixture.manager.environment.rates
            let record = try await fixture.add { $0.startsPaused = true }.record
            #expect(rates.bufferBytes(for: record) == nil)
            let lane = ThrottleHandle(record, rates, fixture.manager.environment.clock)
            #expect(lane.bufferBytes == nil)
            rates.setLimit(1_000_000)
            #expect(lane.bufferBytes == 250_000)
            // A second connection gets half of the buffer.
            #expect(rates.bufferBytes(for: record) == 125_000)
            rates.setLimit(1)
            #expect(lane.bufferBytes == ThrottleController.leastBuffer)
            rates.setLimit(.max)
            #expect(lane.bufferBytes == 1 << 40)
            rates.setLimit(nil)
            #expect(lane.bufferBytes == nil)
            await fixture.manager.shutdown()
        }
    }

    // MARK: Real connections

    /// The disk receives what the limit allows; the server may be ahead by the kernel's socket buffers.
    @Test func `the server is slowed to the limit, and a limited download does not stall`() async throws {
        let size: Int64 = 64 << 20
        try await withFaultServer(.ok(.pattern(size: size))) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.rateLimit = 200_000
                    $0.stallTimeout = .seconds(2)
                    $0.minimumSpeed = 1_000_000
                    $0.retryPolicy.maxFailures = 0
                }
                try await withDownloadManager(configuration) { manager in
                    let download = try await manager.download(DownloadRequest(server.url("/x"), to: .directory(folder)))
                    for await progress in download.progress where progress.bytesReceived >= 1_000_000 { break }
                    let ahead = server.traffic.bodyBytesSent - download.record.status.progress.bytesReceived
                    #expect(download.state == .running)
                    #expect(ahead < 8 << 20)
                    await download.cancel()
                }
            }
        }
    }

    @Test func `a file is exact despite constantly changing limits`() async throws {
        let body = Response.Body.pattern(size: 3_000_000)
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let download = try await manager.download(DownloadRequest(server.url("/x"), to: .directory(folder)))
                    var count = 0
                    for await progress in download.progress {
                        count += 1
                        try await manager.setRateLimit([nil, 500_000, 5_000_000, 2_000_000][count % 4])
                        try await download.setRateLimit([3_000_000, nil][count % 2])
                        _ = progress
                    }
                    #expect(body.difference(fromFileAt: try await download.value) == nil)
                }
            }
        }
    }
}
