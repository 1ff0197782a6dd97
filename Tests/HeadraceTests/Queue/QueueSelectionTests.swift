import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Commands on many downloads, start times, groups, and events of the whole queue, over fake connections.
@Suite(.timeLimit(.minutes(4)))
struct QueueSelectionTests {
    // MARK: Time

    @Test func `a download that waits to retry frees its slot and keeps its position in the queue`()
        async throws
    {
        try await QueueFixture.with { list in
            let busy = try await list.add("busy")
            let next = try await list.add("b")
            _ = try await next.value
            #expect(busy.state == .waiting)
            try await list.clock.sleeperArmed(for: .seconds(60))
            let silent = try await list.add("silent")
            for await state in silent.states where state == .running { break }
            let last = try await list.add("c")
            list.clock.advance(by: .seconds(60))
            #expect(busy.state == .waiting, "no more than one at once, also when a time has come")
            await silent.pause()
            _ = try await last.value
            #expect(DiskFixture.isExact(try await busy.value))
            #expect(list.requests() == ["/busy", "/b", "/silent", "/busy", "/c"])
        }
    }

    @Test func `resuming a download that waits to retry retries it at once`() async throws {
        try await QueueFixture.with { list in
            let busy = try await list.add("busy")
            try await list.clock.sleeperArmed(for: .seconds(60))
            await busy.resume()
            _ = try await busy.value
        }
    }

    @Test func `a snapshot reports the time of the next attempt and the last failure`() async throws {
        try await QueueFixture.with(limit: 3) { list in
            func snapshot(of download: Download) async throws -> DownloadSnapshot {
                try #require(await list.manager.snapshots.first { _ in true }?.first { $0.id == download.id })
            }
            let (before, busy) = (Date(), try await list.add("busy"))
            try await list.clock.sleeperArmed(for: .seconds(60))
            let waiting = try await snapshot(of: busy)
            #expect(waiting.lastFailure?.statusCode == 503)
            let wait = try #require(waiting.nextAttempt).timeIntervalSince(before)
            #expect((59...120).contains(wait), "the wall's clock goes on while the test's stands")
            // The host's `Retry-After` also delays this download, which has not failed itself.
            let other = try await list.add("busy-too")
            for await event in other.events { if case .notice = event { break } }
            for await state in other.states where state == .waiting { break }
            let held = try await snapshot(of: other)
            #expect(held.lastFailure == nil)
            #expect(held.nextAttempt != nil)
            await busy.resume()
            _ = try await busy.value
            let finished = try await snapshot(of: busy)
            #expect(finished.nextAttempt == nil)
            #expect(finished.lastFailure == nil)
        }
    }

    @Test func `a download refused by a host that serves another one is retried until it is accepted`() async throws {
        try await QueueFixture.with(limit: 2) { list in
            try await list.addSending()
            _ = try await list.add("full").value
            #expect(list.requests().count { $0 == "/full" } == 8)
        }
    }

    @Test func `downloads fail if their host refuses them and serves no other`() async throws {
        try await QueueFixture.with(limit: 3) { list in
            let downloads = try await list.manager.download(["closed", "closed-too"].map { try list.request($0) })
            for download in downloads { await #expect(throws: DownloadError.self) { _ = try await download.value } }
            #expect(list.requests().count == 12)
        }
    }

    @Test func `a refused download continues from its mirrors, but fails if it was redirected to another host`()
        async throws
    {
        try await QueueFixture.with(limit: 4) { list in
            try await list.addSending()
            let mirror = try #require(URL(string: "http://m/file"))
            _ = try await list.add("closed") { $0.mirrors = [mirror] }.value
            let moved = try await list.add("moved")
            await #expect { _ = try await moved.value } throws: { ($0 as? DownloadError)?.statusCode == 429 }
            let requested = list.requests()
            #expect(["/closed", "/moved", "/file"].map { path in requested.count { $0 == path } } == [12, 6, 1])
        }
    }

    @Test func `T07 a host's Retry-After applies to its other downloads, unless they are resumed by hand`()
        async throws
    {
        try await QueueFixture.with(limit: 3) { list in
            try await list.add("busy")
            try await list.clock.sleeperArmed(for: .seconds(60))
            let other = try await list.add("busy-too")
            for await event in other.events { if case .notice = event { break } }
            for await state in other.states where state == .waiting { break }
            #expect(list.requests() == ["/busy"])
            await other.resume()
            for await event in other.events { if case .retrying = event { break } }
            #expect(list.requests() == ["/busy", "/busy-too"])
        }
    }

    @Test func `failures are counted across all attempts of a download`() async throws {
        try await withTemporaryDirectory { folder in
            let outcome = try await DiskFixture.run(to: .directory(folder), files: .system, retries: 2) { _ in
                throw DownloadError(.connection, "No.")
            }
            #expect(outcome.error?.code == .connection)
            #expect(outcome.starts == [0, 0, 0])
            #expect(outcome.events.filter { $0 == .started } == [.started])
        }
    }

    @Test func `a download with an earliest begin is not requested before that time`() async throws {
        try await QueueFixture.with { list in
            let late = try await list.add("late") { $0.earliestBegin = Date().addingTimeInterval(3600) }
            let past = try await list.add("past") { $0.earliestBegin = Date().addingTimeInterval(-3600) }
            _ = try await past.value
            #expect(late.state == .waiting)
            #expect(try await list.clock.sleeperArmed().offset > .seconds(3500))
            list.clock.advance(by: .seconds(3601))
            _ = try await late.value
            #expect(list.requests() == ["/past", "/late"])
        }
    }

    @Test func `resuming a download with an earliest begin starts it at once`() async throws {
        try await QueueFixture.with { list in
            let late = try await list.add("late") { $0.earliestBegin = .distantFuture }
            await late.resume()
            _ = try await late.value
        }
    }

    // MARK: What a request brings along

    @Test func `a download added paused runs once it is resumed`() async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("a") { $0.startsPaused = true }
            #expect(download.state == .paused)
            await list.manager.waitUntilIdle()
            #expect(list.requests() == [])
            await download.resume()
            _ = try await download.value
        }
    }

    @Test func `the priority of the request takes precedence over the queue order`() async throws {
        try await QueueFixture.with { list in
            let silent = try await list.add("silent")
            for (path, priority) in [("a", DownloadPriority.low), ("b", .normal), ("c", 3), ("d", .high)] {
                try await list.add(path) { $0.priority = priority }
            }
            await silent.cancel()
            await list.manager.waitUntilIdle()
            #expect(list.requests() == ["/silent", "/d", "/c", "/b", "/a"])
        }
    }

    @Test func `the title and user info are available from the download`() async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("a") {
                $0.title = "A film"
                $0.userInfo = ["season": "2"]
            }
            let request = await list.manager[download.id]?.request
            #expect(request?.title == "A film")
            #expect(request?.userInfo == ["season": "2"])
        }
    }

    // MARK: Many at once

    @Test func `in an empty queue nothing runs and no command has an effect`() async throws {
        try await QueueFixture.with { list in
            await list.manager.pauseAll()
            await list.manager.resumeAll()
            await list.manager.retryFailed()
            await list.manager.cancelAll()
            await list.manager.removeFinished()
            await list.manager.waitUntilIdle()
            #expect(await list.manager.downloads == [])
        }
    }

    @Test func `all downloads are paused, resumed and cancelled in one step each`() async throws {
        try await QueueFixture.with(limit: 2) { list in
            let downloads = try await list.manager.download(
                ["silent1", "silent2", "a", "b"].map { try list.request($0) }
            )
            for download in downloads.prefix(2) { for await state in download.states where state == .running { break } }
            await list.manager.pauseAll()
            #expect(list.states(downloads) == [.paused, .paused, .paused, .paused])
            #expect(list.requests().count == 2)
            await list.manager.resumeAll()
            for download in downloads.prefix(2) { for await state in download.states where state == .running { break } }
            await list.manager.cancelAll()
            #expect(list.states(downloads) == [.cancelled, .cancelled, .cancelled, .cancelled])
            #expect(try FileProbe.names(in: list.folder) == [])
        }
    }

    @Test func `cancelling running, paused, waiting and failed downloads reports no failure`() async throws {
        try await QueueFixture.with { list in
            let failed = try await list.add("bad")
            await list.manager.waitUntilIdle()
            #expect(failed.state.kind == .failed)
            let paused = try await list.add("silent1")
            await paused.pause()
            let running = try await list.add("silent2")
            let waiting = try await list.add("b")
            for await progress in running.progress where progress.bytesReceived > 0 { break }
            await list.manager.cancelAll()
            #expect(list.states([running, paused, waiting, failed]) == Array(repeating: .cancelled, count: 4))
            #expect(try FileProbe.names(in: list.folder) == [])
        }
    }

    @Test func `of several downloads resumed at once, the one with the highest priority runs first`() async throws {
        try await QueueFixture.with { list in
            let silent = try await list.add("silent")
            let downloads = try await list.manager.download(["a", "b"].map { try list.request($0) })
            await downloads[1].setPriority(.high)
            await list.manager.pauseAll()
            await silent.remove()
            await list.manager.resumeAll()
            await list.manager.waitUntilIdle()
            #expect(list.requests() == ["/silent", "/b", "/a"])
        }
    }

    @Test func `an earliest begin survives pausing and resuming all downloads`() async throws {
        try await QueueFixture.with { list in
            let late = try await list.add("late") { $0.earliestBegin = Date().addingTimeInterval(3600) }
            await list.manager.pauseAll()
            await list.manager.resumeAll()
            #expect(late.state == .waiting)
            list.clock.advance(by: .seconds(3601))
            _ = try await late.value
        }
    }

    @Test func `each deadline has one sleeper, however often other downloads are retried`() async throws {
        try await QueueFixture.with(limit: 4) { list in
            try await list.add("late") { $0.earliestBegin = Date().addingTimeInterval(7200) }
            for round in 0..<5 {
                let busy = try await list.add("busy\(round)")
                try await list.clock.sleeperArmed(for: .seconds(60))
                list.clock.advance(by: .seconds(60))
                _ = try await busy.value
            }
            #expect(list.clock.deadlines.count == 1)
        }
    }

    /// The later download is paused, or has failed as well.
    @Test(arguments: [false, true])
    func `removing a failed download leaves its bytes to a later download of the same file`(_ fails: Bool) async throws
    {
        try await withTemporaryDirectory { folder in
            let isCut = Locked(true)
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration { $0.retryPolicy.maxFailures = 0 },
                    transport: FakeTransport { request in
                        DiskFixture.response(request, sending: isCut.withLock { $0 } ? 60_000 : .max)
                    },
                    clock: AnyClock(TestClock())
                )
            )
            var request = try DiskFixture.request(to: .directory(folder))
            let failed = try await manager.download(request)
            await #expect(throws: DownloadError.self) { try await failed.value }
            request.startsPaused = !fails
            let next = try await manager.download(request)
            #expect(next != failed)
            if fails { await #expect(throws: DownloadError.self) { try await next.value } }
            let size: Int64 = fails ? 120_000 : 60_000
            await failed.cancel()
            await failed.remove(deletingFile: true)
            #expect(FileProbe.size(of: next.partialFile) == size)
            isCut.withLock { $0 = false }
            await next.resume()
            _ = try await next.value
            var events: [DownloadEvent] = []
            for await event in next.events { events.append(event) }
            #expect(events.contains { if case .resumed(size, _, _) = $0 { true } else { false } })
            await manager.shutdown()
        }
    }

    @Test func `a download cancelled and added again at once is not affected by the removal`() async throws {
        try await QueueFixture.with { list in
            for _ in 0..<20 {
                let download = try await list.add("silent")
                for await progress in download.progress where progress.bytesReceived > 0 { break }
                await download.pause()
                async let cancelled: Void = download.cancel()
                while download.state == .paused, await !list.manager.queue.scheduler.isShutDown { await Task.yield() }
                let again = try await list.add("silent")
                for await progress in again.progress where progress.bytesReceived > 0 { break }
                await cancelled
                await again.remove(deletingFile: true)
            }
        }
    }

    @Test func `retryFailed retries only failed downloads, and removeFinished removes only finished ones`() async throws
    {
        try await QueueFixture.with { list in
            let downloads = try await list.manager.download(["bad", "a", "b"].map { try list.request($0) })
            await downloads[2].pause()
            await list.manager.waitUntilIdle()
            await list.manager.retryFailed()
            await list.manager.waitUntilIdle()
            #expect(list.requests() == ["/bad", "/a", "/bad"])
            await list.manager.removeFinished()
            #expect(await list.manager.downloads == [downloads[0], downloads[2]])
            #expect(try FileProbe.names(in: list.folder) == ["a"])
        }
    }

    @Test func `commands select downloads by identity, URL, state or group`() async throws {
        try await QueueFixture.with { list in
            let silent = try await list.add("silent")
            let downloads = try await list.manager.download(
                ["a", "b", "c", "d"].map { path in try list.request(path) { $0.group = path < "c" ? "early" : nil } }
            )
            try await list.manager.pause(.group("early"))
            try await list.manager.pause(.url(downloads[2].request.url))
            try await list.manager.pause(.downloads([downloads[3].id]))
            #expect(list.states(downloads) == [.paused, .paused, .paused, .paused])
            #expect(try await list.manager.downloads(.state(.paused)) == downloads)
            #expect(try await list.manager.downloads(.group("early")) == Array(downloads[..<2]))
            try await list.manager.resume(.group("early"))
            #expect(list.states(downloads) == [.waiting, .waiting, .paused, .paused])
            try await list.manager.remove(.group("early"), deletingFiles: true)
            #expect(await list.manager.downloads == [silent, downloads[2], downloads[3]])
            #expect(try await list.manager.downloads(.group("early")) == [])
        }
    }

    @Test func `an unknown identity or position is rejected before anything changes`() async throws {
        try await QueueFixture.with { list in
            let silent = try await list.add("silent")
            let next = try await list.add("a")
            let unknown = Download.ID(rawValue: 7)
            let missing = await list.manager[unknown]
            #expect(missing == nil)
            let error = await #expect(throws: DownloadError.self) {
                try await list.manager.cancel(.downloads([silent.id, unknown]))
            }
            #expect(error?.code == .unknownDownload)
            #expect(error?.message.contains("0000000000000007") == true)
            #expect(list.states([silent, next]).allSatisfy { !$0.isEnded })
            for place in [QueuePosition.before(unknown), .after(unknown), .index(2), .index(-1)] {
                let error = await #expect(throws: DownloadError.self) { try await next.move(to: place) }
                #expect(error?.code == .unknownDownload)
            }
            try await next.move(to: .before(next.id))
            #expect(await list.manager.downloads == [silent, next])
            try await next.move(to: .index(0))
            #expect(await list.manager.downloads == [next, silent])
        }
    }

    @Test func `a finished download reports that its file is gone, and resuming it downloads the file again`()
        async throws
    {
        try await QueueFixture.with { list in
            let download = try await list.add("a")
            let file = try await download.value
            #expect(await download.fileExists)
            await download.resume()
            #expect(list.requests() == ["/a"])
            try FileManager.default.removeItem(at: file)
            #expect(await !download.fileExists)
            await download.resume()
            #expect(try await download.value == file)
            #expect(list.requests() == ["/a", "/a"])
        }
    }

    // MARK: Following the list

    @Test func `the queue reports its events in order`() async throws {
        try await QueueFixture.with { list in
            let events = list.manager.events
            let downloads = try await list.manager.download(["a", "bad"].map { try list.request($0) })
            let (a, bad) = (downloads[0].id, downloads[1].id)
            await list.manager.waitUntilIdle()
            try await downloads[1].move(to: .first)
            await downloads[1].setPriority(.high)
            try await list.manager.setMaxConcurrentDownloads(3)
            await downloads[0].remove()
            await list.manager.shutdown()
            var told: [QueueEvent] = []
            for await event in events { told.append(event) }
            let error = try #require(
                told.compactMap { if case .stateChanged(_, .failed(let error)) = $0 { error } else { nil } }.first
            )
            #expect(
                told == [
                    .added([a, bad]), .stateChanged(a, .running),
                    .stateChanged(a, .finished(list.folder.appending(path: "a"))), .stateChanged(bad, .running),
                    .stateChanged(bad, .failed(error)), .idle, .moved(bad), .priorityChanged(bad, .high),
                    .limitsChanged(downloads: 3, perHost: nil), .removed(a),
                ]
            )
        }
    }

    @Test func `an event stream that is not read uses bounded memory and drops the oldest events`() async throws {
        try await QueueFixture.with { list in
            let events = list.manager.events
            let download = try await list.add("silent")
            for number in 1...5_000 { await download.setPriority(DownloadPriority(rawValue: number)) }
            await list.manager.shutdown()
            var told: [QueueEvent] = []
            for await event in events { told.append(event) }
            #expect(told.count == QueueObservers.eventCapacity)
            #expect(told.contains(.priorityChanged(download.id, 5_000)))
        }
    }

    @Test func `a snapshot has the whole queue, and a slow reader receives the newest one`() async throws {
        try await QueueFixture.with { list in
            var snapshots = list.manager.snapshots.makeAsyncIterator()
            #expect(await snapshots.next(isolation: nil) == [])
            let downloads = try await list.manager.download(["a", "b"].map { try list.request($0) })
            await list.manager.waitUntilIdle()
            try await downloads[1].move(to: .first)
            list.clock.advance(by: .seconds(1))
            let newest = try #require(await snapshots.next(isolation: nil))
            #expect(newest.map(\.id) == [downloads[1].id, downloads[0].id])
            #expect(newest.map(\.state.kind) == [.finished, .finished])
            #expect(newest.map(\.progress.fractionCompleted) == [1, 1])
            await list.manager.shutdown()
            list.clock.advance(by: .seconds(1))
            #expect(await snapshots.next(isolation: nil) == nil)
        }
    }

    @Test func `the progress of a group is the sum of its downloads, and finishes with the last of them`() async throws
    {
        try await QueueFixture.with(limit: 3) { list in
            try await list.add("other")
            let downloads = try await list.manager.download(
                ["a", "b", "bad"].map { path in try list.request(path) { $0.group = "films" } }
            )
            await list.manager.waitUntilIdle()
            var told: [GroupProgress] = []
            for await progress in list.manager.progress(ofGroup: "films") { told.append(progress) }
            let last = try #require(told.last)
            #expect(told.count == 1)
            #expect(last.counts == [.finished: 2, .failed: 1])
            #expect(last.bytesReceived == Int64(2 * DiskFixture.size))
            #expect(last.fractionCompleted == 1)
            #expect(downloads.count == 3)
        }
    }
}
