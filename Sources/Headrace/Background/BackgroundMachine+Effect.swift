/// What the machine is told, and what it has done.
extension BackgroundMachine {
    /// What the list says of a download.
    enum Standing: Sendable {
        /// It runs: its run asks for the outcome, or has.
        case running
        /// It is to run.
        case waiting
        /// It is paused, or has failed: its bytes are for later.
        case kept
        /// It has ended, or is not in the list.
        case unwanted
    }

    /// A task that the system has.
    struct Listed: Sendable {
        var task: BackgroundTask
        var standing: Standing
        var receivedBytes: Int64
    }

    /// How a task ended that has no file.
    struct End: Sendable {
        /// Nil where the system calls it a success.
        var failure: BackgroundFailure?
        var resumeData: ResumeData?
        var receivedBytes: Int64 = 0
    }

    /// How a fetch ended, for the run that waits.
    enum Outcome: Sendable, Equatable {
        /// The file is the complete partial of the download.
        case file(DeliveredFile)
        /// It is to be fetched again, by no fault of the server.
        case again
        case failed(DownloadError)
        case stopped
    }

    enum Stop: Sendable {
        /// The bytes are for later.
        case keeping
        /// They are not wanted any more.
        case discarding
        /// The system goes on, and nobody waits.
        case leaving
    }

    /// In the order in which they are to be done; all but ``takeOver(_:)`` are quick.
    enum Effect: Sendable, Equatable {
        /// Make a task, and tell ``made(_:)``.
        case make(ID, from: ResumeData?)
        case resume(BackgroundTask)
        case cancel(BackgroundTask)
        /// Cancel, and tell ``gave(_:_:at:)``.
        case cancelForData(BackgroundTask)
        /// Make the task's file the partial before the callback returns, and tell ``tookOver(_:_:_:)``.
        case takeOver(BackgroundTask)
        case save(ID, BackgroundTaskState?)
        case progress(ID, receivedBytes: Int64, totalBytes: Int64?)
        case resumed(ID, from: Int64)
        case restarted(ID, BackgroundRestart, wastedBytes: Int64)
        case end(ID, Outcome)
        case call([BackgroundHandler])
    }
}
