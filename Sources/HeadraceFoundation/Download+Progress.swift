public import Foundation
public import Headrace

extension Download {
    /// Updates a `Progress` from the download, for views, menus and file managers that display one.
    ///
    /// The unit is bytes. The progress is indeterminate while the size is unknown, and is complete only once the file
    /// has its final name. The user info contains the throughput, the remaining time and the URL of the finished file.
    /// Pausing, resuming or cancelling the progress does the same to the download.
    ///
    /// Returns when the download has ended. A finished download completes the progress, and a cancelled one cancels it.
    /// After a failure, the progress stays at the received bytes, and ``Headrace/Download/value`` throws the error.
    ///
    /// If the calling task is cancelled, this method returns early. The download continues, but the progress is no
    /// longer updated and can no longer pause, resume or cancel the download.
    /// - Parameter progress: The object to update, which may have a parent. No other code may change it meanwhile.
    public func report(to progress: Progress) async {
        let (verbs, wishes) = AsyncStream.makeStream(of: Verb.self)
        progress.kind = .file
        progress.setUserInfoObject(Progress.FileOperationKind.downloading, forKey: .fileOperationKindKey)
        progress.totalUnitCount = -1
        progress.isPausable = true
        progress.isCancellable = true
        progress.pausingHandler = { wishes.yield(.pause) }
        progress.resumingHandler = { wishes.yield(.resume) }
        progress.cancellationHandler = { wishes.yield(.cancel) }
        let received = await withTaskGroup { group in
            group.addTask { for await verb in verbs { await perform(verb) } }
            var received: Int64 = 0
            for await snapshot in self.progress {
                received = snapshot.bytesReceived
                progress.show(snapshot)
            }
            wishes.finish()
            return received
        }
        progress.isPausable = false
        progress.isCancellable = false
        (progress.pausingHandler, progress.resumingHandler, progress.cancellationHandler) = (nil, nil, nil)
        switch state {
        case .finished(let file):
            progress.setUserInfoObject(file, forKey: .fileURLKey)
            progress.complete(received)
        case .cancelled: progress.cancel()
        case .waiting, .running, .paused, .failed: break
        }
    }

    private enum Verb: Sendable { case pause, resume, cancel }

    private func perform(_ verb: Verb) async {
        switch verb {
        case .pause: await pause()
        case .resume: await resume()
        case .cancel: await cancel()
        }
    }
}

extension Progress {
    func show(_ snapshot: DownloadProgress) {
        let total = snapshot.totalBytes.map { max(1, $0) }
        // The count stays below the total, because the file is not verified yet, and its bytes may still be discarded.
        count(total.map { min(snapshot.bytesReceived, $0 - 1) } ?? snapshot.bytesReceived, of: total)
        setUserInfoObject(Int(snapshot.bytesPerSecond), forKey: .throughputKey)
        let rest = snapshot.timeRemaining.map { Double($0.components.seconds) }
        setUserInfoObject(rest, forKey: .estimatedTimeRemainingKey)
    }

    func complete(_ bytes: Int64) {
        // `Progress` does not count 0 of 0 units as complete.
        let total = max(1, bytes)
        count(total, of: total)
    }

    /// Sets the completed and the total unit count.
    ///
    /// The counts must not be equal before both are set, or a parent would count its child as complete.
    private func count(_ completed: Int64, of total: Int64?) {
        completedUnitCount = min(completedUnitCount, completed, (total ?? .max) - 1)
        totalUnitCount = total ?? -1
        completedUnitCount = completed
    }
}
