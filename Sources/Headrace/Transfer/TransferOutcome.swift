#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a transfer ended.
enum TransferOutcome: Sendable {
    case finished(URL)
    case failed(DownloadError)
    /// It was told to stop; `keptBytes` where a partial is left.
    case stopped(keptBytes: Bool)

    /// Runs a transfer to its end, or until its time is over.
    init(of transfer: DownloadTransfer) async {
        guard let limit = transfer.environment.configuration.timeLimit else {
            self = await TransferOutcome(ofUnlimited: transfer)
            return
        }
        self = await withDiscardingTaskGroup { group in
            // Not on the blocking executor, whose threads may all be held by the disk.
            group.addTask(executorPreference: globalConcurrentExecutor) {
                let clock = transfer.environment.clock
                guard (try? await clock.sleep(transfer.start + limit)) != nil else { return }
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
                    .failed(.timedOut(transfer.request.url, after: limit))
                } else {
                    .stopped(keptBytes: stopped.keptBytes)
                }
        } catch let error as DownloadError {
            self = .failed(error)
        } catch {
            self = .failed(DownloadError(.connectionLost, "The transfer failed: \(error).", cause: error))
        }
    }

    /// What of the outcome decides what runs next.
    func forQueue(at now: Duration) -> DownloadQueue.Outcome {
        switch self {
        case .finished: .finished
        case .failed: .failed
        case .stopped(let keptBytes): .stopped(keptBytes: keptBytes)
        }
    }
}
