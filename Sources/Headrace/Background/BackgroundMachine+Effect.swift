/// The inputs and outputs of the state machine.
extension BackgroundMachine {
    /// The status of a download in the queue, reduced to what the state machine distinguishes.
    enum Status: Sendable {
        /// The download is running, and its run has called or will call ``fetch(_:note:at:)``.
        case running
        /// The download is queued but not running.
        case waiting
        /// The download is paused, or has failed in this process; its bytes are saved for later.
        case kept
        /// The download has finished, was cancelled, failed in an earlier process, or is not in the queue.
        case unwanted
    }

    /// A task that the system lists when a manager connects to the session.
    struct Listed: Sendable {
        var task: BackgroundTask
        var status: Status
        var receivedBytes: Int64
    }

    /// The result of a task that completed without delivering a file.
    struct End: Sendable {
        /// The failure; `nil` if the system reports success.
        var failure: BackgroundFailure?
        var resumeData: ResumeData?
        var receivedBytes: Int64 = 0
    }

    /// The result of a fetch, for the run that awaits it.
    enum Outcome: Sendable, Equatable {
        /// The system delivered the file, which is now the download's partial file.
        case file(DeliveredFile)
        /// The run must request the file again, because the system stopped the task or lost its file or resume data.
        case again
        case failed(DownloadError)
        case stopped
    }

    enum Stop: Sendable {
        /// Stop the task, and save the received bytes for a later run.
        case keeping
        /// Stop the task, and discard the received bytes.
        case discarding
        /// Let the system continue the task; the download's next run, usually in another process, receives the result.
        case leaving
    }

    /// An action that the caller of the state machine performs, in the order returned.
    enum Effect: Sendable, Equatable {
        /// Create a suspended task and call ``made(_:)``.
        case make(ID, from: ResumeData?)
        case resume(BackgroundTask)
        case cancel(BackgroundTask)
        /// Cancel the task and pass its resume data to ``receivedResumeData(_:_:at:)``.
        case cancelForData(BackgroundTask)
        /// Move the delivered file to the partial file within the system's callback, then call ``movedFile(_:_:_:)``.
        case takeOver(BackgroundTask)
        case save(ID, BackgroundTaskState?)
        case progress(ID, receivedBytes: Int64, totalBytes: Int64?)
        case resumed(ID, from: Int64)
        case restarted(ID, RestartReason, wastedBytes: Int64)
        case end(ID, Outcome)
        case call([BackgroundHandler])
    }
}
