#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a transfer ended.
enum TransferOutcome: Sendable {
    case finished(URL)
    case failed(DownloadError)
    case stopped(StopSignal.Reason)

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
                transfer.record.stop.stop(.timedOut(after: limit))
            }
            let outcome = await TransferOutcome(ofUnlimited: transfer)
            group.cancelAll()
            return outcome
        }
    }

    private init(ofUnlimited transfer: DownloadTransfer) async {
        do {
            self = .finished(try await transfer.run())
        } catch let error as DownloadError {
            self = .failed(error)
        } catch is CancellationError {
            self = .stopped(.cancelled)
        } catch {
            self = .failed(DownloadError(.connectionLost, "The transfer failed: \(error).", cause: error))
        }
    }
}

extension DownloadRecord {
    /// Enters the terminal state that the outcome means; a stop that was asked for explains what it made fail.
    func end(with outcome: TransferOutcome) {
        switch (outcome, stop.reason) {
        case (.finished(let file), _): status.enter(.finished(file), nil)
        case (.stopped(.cancelled), .none), (.stopped, .cancelled), (.failed, .cancelled):
            status.enter(.cancelled, .cancelled)
        case (.stopped, .shutDown), (.stopped(.shutDown), .none), (.failed, .shutDown):
            let error = DownloadError.shutDown(request.url)
            status.enter(.failed(error), .failed(error))
        case (.stopped(.timedOut(let limit)), .none), (.stopped, .timedOut(let limit)),
            (.failed, .timedOut(let limit)):
            let error = DownloadError.timedOut(request.url, after: limit)
            status.enter(.failed(error), .failed(error))
        case (.failed(let error), .none):
            let error = error.about(request.url)
            status.enter(.failed(error), .failed(error))
        }
    }
}
