import HeadracePlatform

/// A complete file under its final name.
struct FinishedFile: Sendable {
    let url: URL
    /// The file as it was then; nil where it could not be looked at.
    let stamp: FileStamp?
    /// Whether the download has not fetched it, but found it there.
    var wasThere = false
}

/// How a transfer ended.
enum TransferOutcome: Sendable {
    case finished(FinishedFile)
    case failed(DownloadError)
    /// It was told to stop; `keptBytes` where a partial is left, or a record without one.
    case stopped(keptBytes: Bool)
    /// It is to be gone on with, but not before this time.
    case retry(TransferState, at: Duration)

    /// Runs a transfer to its end, or until its time is over.
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
            // Not on the blocking executor, whose threads may all be held by the disk.
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

    /// A stop that was asked for explains what it made fail.
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
            // At the end of its time it has to be told, whatever it waits for.
            let limit = transfer.environment.configuration.timeLimit
            var attempts = retry.attempts
            let time = min(retry.time, limit.map { attempts.start + $0 } ?? retry.time)
            attempts.wait(until: time)
            self = .retry(attempts, at: time)
        } catch let error as DownloadError where error.isOutOfDescriptors && transfer.environment.descriptors.ranOut() {
            let retry = DownloadTransfer.Retry(transfer.attempts, after: error, transfer)
            self = .retry(retry.attempts, at: retry.time)
        } catch let error as DownloadError {
            self = .failed(error)
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
