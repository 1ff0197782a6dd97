/// Writes the changes of a manager's queue to the journal of its registry, one write at a time.
struct JournalWriter: Sendable {
    /// The registry's files; `nil` without a registry, and therefore without a journal.
    let registry: RegistryFiles?
    let observers: QueueObservers

    /// Writes all changes so far to the journal.
    ///
    /// With `syncing`, also syncs the journal if the configuration requires it for these changes, or if `always` is
    /// `true`; then they survive a power cut.
    ///
    /// After a failed write, the next write replaces the journal with the whole queue. An alarm triggers that write
    /// even if the queue does not change again.
    func flush(
        _ manager: isolated DownloadManager,
        syncing: Bool = true,
        always: Bool = false
    ) async throws(DownloadError) {
        guard let registry else { return }
        while manager.isFlushing {
            let latch = Latch()
            manager.flushWaiters.append(latch)
            await latch.wait(evenIfCancelled: true)
        }
        manager.isFlushing = true
        defer {
            manager.isFlushing = false
            if !manager.flushWaiters.isEmpty { manager.flushWaiters.removeFirst().open() }
        }
        var next = manager.queue.takeChanges(syncing: syncing, always: always)
        while let write = next {
            do throws(DownloadError) {
                let body = { @Sendable () throws(DownloadError) in try write.perform(on: registry.file) }
                switch try await registry.executor.run(body) {
                case .recorded: next = nil
                case .recordedAndDue: next = manager.queue.takeAll(isOptional: true)
                case .wholeListNeeded: next = manager.queue.takeAll(isOptional: false)
                }
            } catch {
                let now = manager.environment.clock.now()
                let retryTime = manager.queue.journal?.failed(write, at: now)
                if let retryTime { manager.performer.work.yield(.alarm(retryTime)) }
                guard write.isOptional else { throw error }
                return
            }
        }
    }

    /// Like ``flush(_:syncing:always:)``, but publishes a failure instead of throwing it.
    func flushOrReport(_ manager: isolated DownloadManager, syncing: Bool = true) async {
        do throws(DownloadError) {
            try await flush(manager, syncing: syncing)
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Records that a transfer is about to give a complete file its final name, and writes that to the journal.
    func willRename(_ id: DownloadID, _ path: String, _ stamp: FileStamp, in manager: isolated DownloadManager) async {
        guard let bases = manager.queue.journal?.bases else { return }
        manager.queue.journal?.note(id, .finishing(RelocatablePath(path, bases: bases), stamp))
        await flushOrReport(manager, syncing: false)
    }
}
