import HeadracePlatform

/// A complete file under its final name.
struct FinishedFile: Sendable {
    let url: URL
    /// The stamp of the file when the transfer finished; `nil` if it could not be read.
    let stamp: FileStamp?
    /// Whether the file existed before the download; `false` if this download fetched it, even in an earlier run.
    var wasThere = false
}

/// The result of running a ``DownloadTransfer``.
enum TransferOutcome: Sendable {
    case finished(FinishedFile)
    case failed(DownloadError)
    /// The transfer stopped as requested; `keptBytes` is `true` if received bytes remain on the disk, or if a resume
    /// record without a partial file was found.
    case stopped(keptBytes: Bool)
    /// The download must run again with this state, at the given time or later.
    indirect case retry(TransferState, at: Duration)
}

extension DownloadTransfer {
    /// Runs the transfer until it ends or exceeds the time limit of the download; fails at once if the limit has
    /// already passed.
    mutating func runWithinTimeLimit() async -> TransferOutcome {
        guard let limit = environment.configuration.timeLimit else { return await run() }
        let end = state.start + limit
        let now = environment.clock.now()
        guard end > now else {
            let wait = environment.hosts.notBefore(state.sources.current).map { $0 - now }
            return .failed(timedOut(after: limit, hostWait: wait))
        }
        return await withDiscardingTaskGroup { group in
            // Not on the blocking executor, whose threads may all be waiting for the disk.
            group.addTask(executorPreference: environment.computing) { [stop, clock = environment.clock] in
                guard (try? await clock.sleep(end)) != nil else { return }
                stop.stop(.timedOut(after: limit))
            }
            let outcome = await run()
            group.cancelAll()
            return outcome
        }
    }
}
