import Dispatch
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A manager that serves the commands of other processes until nothing is left to do.
@Suite(.timeLimit(.minutes(4)))
struct ServingTests {
    /// Runs a manager that starts no downloads, with the given states of downloads 1, 2 and so on.
    private func withManager(
        _ areWaiting: [Bool],
        _ body: (DownloadManager, CommandSpool, TestClock) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            let clock = TestClock()
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.registryDirectory = directory
                        $0.startsDownloads = false
                        $0.durability = .none
                    },
                    transport: NoTransport(),
                    files: .unsynced,
                    clock: AnyClock(clock)
                )
            )
            let entries = areWaiting.enumerated().map { index, isWaiting in
                var entry = RegistryFixture.entry(UInt64(index + 1))
                entry.request.startsPaused = !isWaiting
                return entry
            }
            try await manager.commandServer.carryOutAndFlush(.add(entries), for: manager)
            try await body(manager, CommandSpool(in: directory.filePath), clock)
            await manager.shutdown()
        }
    }

    @Test func `with nothing to do, serving ends after a last poll`() async throws {
        try await withManager([false, false]) { manager, spool, _ in
            try spool.post(.move(2, .first))
            try await manager.serveCommands(untilIdle: true)
            #expect(await manager.downloads.map(\.id.rawValue) == [2, 1])
            #expect(try !spool.hasCommands)
        }
    }

    @Test func `the last poll can add work`() async throws {
        try await withManager([false]) { manager, spool, clock in
            try spool.post(.resume([1]))
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await manager.serveCommands(untilIdle: true) }
                try await clock.sleeperArmed(for: .milliseconds(500))
                #expect(await manager.downloads.map(\.state) == [.waiting])
                try spool.post(.cancel([1]))
            }
            #expect(await manager.downloads.map(\.state) == [.cancelled])
        }
    }

    @Test(arguments: [RegistryCommand.cancel([1]), .remove([1], deletingFiles: false)])
    func `a download that was paused meanwhile keeps the manager serving until it ends`(
        _ last: RegistryCommand
    ) async throws {
        // The second download was paused before.
        try await withManager([true, false]) { manager, spool, clock in
            let download = try #require(await manager.downloads.first)
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await manager.serveCommands(untilIdle: true) }
                for (command, state) in [
                    (.pause([1]), .paused), (.resume([1]), .waiting), (.pause([1]), .paused),
                ] as [(RegistryCommand, DownloadState)] {
                    try await clock.sleeperArmed(for: .milliseconds(500))
                    try spool.post(command)
                    for await now in download.states where now == state { break }
                }
                try await clock.sleeperArmed(for: .milliseconds(500))
                try spool.post(last)
            }
            // After the end, nothing would have carried out the last command.
            #expect(try !spool.hasCommands)
            #expect(await manager.downloads.first { $0.id.rawValue == 2 }?.state == .paused)
        }
    }

    /// Regression: serving went on for ever, as it had missed the removals of the paused downloads.
    @Test func `serving ends although more events than it can buffer arrive at once`() async throws {
        let executor = try BlockingExecutor(name: "serving", maxThreads: 1, maxWorking: 1)
        let isStopped = DispatchSemaphore(value: 0)
        try await withManager(Array(repeating: true, count: QueueObservers.eventCapacity)) { manager, _, clock in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask(executorPreference: executor) { try await manager.serveCommands(untilIdle: true) }
                try await clock.sleeperArmed(for: .milliseconds(500))
                let paused = await manager.downloads.prefix(2)
                for download in paused { await download.pause() }
                // The only thread runs this after it has processed the events so far.
                await withTaskGroup { $0.addTask(executorPreference: executor) {} }
                #expect(await manager.pausedWhileServing == 2)
                group.addTask(executorPreference: executor) { isStopped.waitForSignal() }
                try await manager.remove(.all)
                #expect(await manager.pausedWhileServing == 0)
                isStopped.signal()
            }
        }
        await executor.shutdown()
    }

    @Test(arguments: [true, false])
    func `serving ends when the manager is shut down or the task is cancelled`(_ isShutdown: Bool) async throws {
        try await withManager([true]) { manager, _, clock in
            try await withThrowingDiscardingTaskGroup { group in
                for untilIdle in [true, false] {
                    group.addTask { try await manager.serveCommands(untilIdle: untilIdle) }
                }
                try await clock.sleeperArmed(for: .milliseconds(500))
                if isShutdown { await manager.shutdown() } else { group.cancelAll() }
            }
        }
    }

    @Test func `a lost registry ends serving with an error`() async throws {
        try await withTemporaryDirectory { folder in
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            let configuration = DownloadConfiguration {
                $0.registryDirectory = directory
                $0.startsDownloads = false
            }
            try await withDownloadManager(configuration) { manager in
                try FileManager.default.removeItem(at: directory)
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.serveCommands(untilIdle: true)
                }
                #expect(error?.isRegistryLost == true)
            }
        }
    }
}

extension DispatchSemaphore {
    /// Blocks the thread like a slow file call.
    fileprivate func waitForSignal() { wait() }
}
