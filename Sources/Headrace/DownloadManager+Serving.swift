/// Serves the commands of other processes; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands of other processes as they arrive, until the manager is shut down or the task is cancelled.
    ///
    ///     try await manager.serveCommands(untilIdle: true)
    ///     await manager.shutdown()
    ///
    /// A command is noticed within milliseconds if the file system reports new files, and within half a second otherwise. After a
    /// failure, the manager polls less often until a poll succeeds; of several failures in a row, only the first is published as
    /// ``QueueEvent/registryFailed(_:)``. Without a registry there are no commands. One task serves the commands of a manager.
    /// - Parameter untilIdle: Whether to return also when nothing is left to do: no download is waiting or running, no download is
    ///   paused that was paused meanwhile, since it may be resumed, and a last poll has found no commands that change this.
    /// - Throws: `fileSystem` if the registry is lost for good, because its directory was deleted, moved or replaced.
    public nonisolated func serveCommands(untilIdle: Bool = false) async throws(DownloadError) {
        let events = events
        let failure = await withTaskGroup(of: DownloadError?.self) { group in
            group.addTask { await self.failure { () throws(DownloadError) in try await self.pollRepeatedly() } }
            group.addTask {
                guard !untilIdle else {
                    return await self.failure { () throws(DownloadError) in try await self.waitUntilDone(events) }
                }
                // The stream finishes when the manager is shut down.
                for await _ in events {}
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let failure { throw failure }
    }

    /// Returns the error that the body throws; `nil` if it throws none.
    private nonisolated func failure(
        of body: () async throws(DownloadError) -> Void
    ) async -> DownloadError? {
        do throws(DownloadError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// Polls for commands until the manager is shut down or the task is cancelled; throws if the registry is lost.
    private func pollRepeatedly() async throws(DownloadError) {
        let watch = await queueExecutor.run { [registry] in registry?.spool.watch() }
        var backoff = PollBackoff()
        repeat {
            do throws(DownloadError) {
                try await poll()
                backoff.succeeded()
            } catch {
                guard error.code != .shutDown else { return }
                guard !error.isRegistryLost else { throw error }
                if !backoff.isFailing { observers.publish(.registryFailed(error)) }
                backoff.failed()
            }
            await waitForChange(watch, until: clock.now() + backoff.delay)
        } while !Task.isCancelled
    }

    private nonisolated func waitForChange(_ watch: FolderWatch?, until end: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(end) }
            if let watch { group.addTask { await watch.change() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Follows the events of the queue until nothing is left to do; throws if the registry is lost.
    private func waitUntilDone(_ events: AsyncStream<QueueEvent>) async throws(DownloadError) {
        // The downloads that were paused meanwhile.
        var paused: Set<DownloadID> = []
        if try await isDone() { return }
        for await event in events {
            switch event {
            case .idle: break
            case .stateChanged(let id, .paused):
                paused.insert(id)
                continue
            case .stateChanged(let id, _), .removed(let id): guard paused.remove(id) != nil else { continue }
            default: continue
            }
            if paused.isEmpty, try await isDone() { return }
        }
    }

    /// Polls a last time, and returns whether no download is waiting or running afterwards.
    private func isDone() async throws(DownloadError) -> Bool {
        guard !hasOpenDownloads else { return false }
        do throws(DownloadError) {
            try await takeCommands()
        } catch  where error.code == .shutDown {
            return true
        } catch  where !error.isRegistryLost {
            observers.publish(.registryFailed(error))
        }
        return !hasOpenDownloads
    }

    private var hasOpenDownloads: Bool {
        downloads.contains { $0.state == .waiting || $0.state == .running }
    }
}
