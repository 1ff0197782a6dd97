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
    /// The transfer stopped as requested; `keptBytes` is `true` if a partial file, or a resume record without a partial
    /// file, remains.
    case stopped(keptBytes: Bool)
    /// The download must run again with this state, at the given time or later.
    case retry(TransferState, at: Duration)

    /// Runs a transfer until it ends or exceeds the time limit of the download, and creates the outcome from its
    /// result.
    init(of transfer: DownloadTransfer) async {
        guard let limit = transfer.environment.configuration.timeLimit else {
            self = await TransferOutcome(ofUnlimited: transfer)
            return
        }
        let end = transfer.attempts.start + limit
        let now = transfer.environment.clock.now()
        guard end > now else {
            let wait = transfer.environment.hosts.notBefore(transfer.attempts.sources.current).map { $0 - now }
            self = .failed(transfer.timedOut(after: limit, hostWait: wait))
            return
        }
        self = await withDiscardingTaskGroup { group in
            // Not on the blocking executor, whose threads may all be waiting for the disk.
            group.addTask(executorPreference: globalConcurrentExecutor) {
                let clock = transfer.environment.clock
                guard (try? await clock.sleep(end)) != nil else { return }
                transfer.stop.stop(.timedOut(after: limit))
            }
            let outcome = await TransferOutcome(ofUnlimited: transfer)
            group.cancelAll()
            return outcome
        }
    }

    /// Runs a transfer and creates the outcome from its result or error; does not enforce the time limit.
    private init(ofUnlimited transfer: DownloadTransfer) async {
        do {
            self = .finished(try await transfer.run())
        } catch let stopped as DownloadTransfer.Stopped {
            self =
                if case .timedOut(let limit) = transfer.stop.reason {
                    .failed(transfer.timedOut(after: limit))
                } else {
                    .stopped(keptBytes: stopped.keptBytes)
                }
        } catch let retry as DownloadTransfer.Retry {
            // A retry is due at the time limit at the latest, so that the transfer can report the timeout.
            let limit = transfer.environment.configuration.timeLimit
            var attempts = retry.attempts
            let time = min(retry.time, limit.map { attempts.start + $0 } ?? retry.time)
            attempts.wait(until: time)
            self = .retry(attempts, at: time)
        } catch let error as DownloadError {
            let retry = transfer.retryAfterOthers(transfer.attempts, after: error)
            self = retry.map { .retry($0.attempts, at: $0.time) } ?? .failed(error)
        } catch {
            self = .failed(DownloadError(.connectionLost, "The transfer failed: \(error).", cause: error))
        }
    }
}

extension DownloadTransfer {
    fileprivate func timedOut(after limit: Duration, hostWait: Duration? = nil) -> DownloadError {
        .timedOut(request.url, after: limit, hostWait: hostWait, isResumable: record.isResumable != false)
    }
}
