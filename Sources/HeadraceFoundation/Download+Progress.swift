public import Foundation
public import Headrace

extension Download {
    /// Keeps a `Progress` at what the download tells, for the views, menus and file managers that take one.
    ///
    /// Units are bytes; the count is indeterminate while the size is not known. Throughput, remaining time and the URL of
    /// the finished file are in the user info. The progress can be paused, resumed and cancelled meanwhile, which does
    /// the same to the download.
    ///
    /// Returns when the download has ended: finished, the progress is complete; cancelled, it is cancelled; failed, it
    /// stays where the bytes end, and ``Headrace/Download/value`` has the error. Cancelling the task that waits ends
    /// the reporting alone.
    /// - Parameter progress: The object to keep, which may have a parent, and which nothing else changes meanwhile.
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
        await withTaskGroup { group in
            group.addTask { for await verb in verbs { await perform(verb) } }
            for await snapshot in self.progress { show(snapshot, on: progress) }
            wishes.finish()
        }
        progress.isPausable = false
        progress.isCancellable = false
        (progress.pausingHandler, progress.resumingHandler, progress.cancellationHandler) = (nil, nil, nil)
        switch state {
        case .finished(let file):
            progress.setUserInfoObject(file, forKey: .fileURLKey)
            // A count of nothing of nothing would not be complete.
            progress.totalUnitCount = max(1, progress.completedUnitCount)
            progress.completedUnitCount = progress.totalUnitCount
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

    private func show(_ snapshot: DownloadProgress, on progress: Progress) {
        progress.totalUnitCount = snapshot.totalBytes ?? -1
        progress.completedUnitCount = snapshot.bytesReceived
        progress.setUserInfoObject(Int(snapshot.bytesPerSecond), forKey: .throughputKey)
        let rest = snapshot.timeRemaining.map { Double($0.components.seconds) }
        progress.setUserInfoObject(rest, forKey: .estimatedTimeRemainingKey)
    }
}
