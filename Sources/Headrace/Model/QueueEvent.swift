/// An event in the queue of a manager; see ``DownloadManager/events``.
public enum QueueEvent: Sendable, Equatable {
    /// Downloads were added at the end of the queue, in this order.
    case added([DownloadID])
    /// The state of a download changed.
    case stateChanged(DownloadID, DownloadState)
    /// A download was moved to another position in the queue.
    case moved(DownloadID)
    /// The priority of a download changed.
    case priorityChanged(DownloadID, DownloadPriority)
    /// A download was removed from the queue.
    case removed(DownloadID)
    /// The maximum numbers of running downloads, in total and per host, were set to these values; `nil` is no limit.
    case limitsChanged(downloads: Int, perHost: Int?)
    /// The rate limit of a group, or of all downloads if `group` is `nil`, was set to this number of bytes per second;
    /// `nil` is no limit.
    case rateLimitChanged(Int64?, group: String?)
    /// A damaged or unknown part of the registry, or an invalid command of another process, was skipped; the message is
    /// a sentence for the user.
    ///
    /// Each new stream of events starts with the messages so far, up to 100.
    case registryDamaged(String)
    /// The registry could not be written, or the commands of other processes could not be read.
    ///
    /// The downloads continue. The write is retried with the next change, with the next
    /// ``DownloadManager/takeCommands()``, and every 30 seconds until it succeeds.
    case registryFailed(DownloadError)
    /// No download is waiting or running any more.
    ///
    /// Reported when the last waiting or running download has ended, or was paused or removed. By then, the files of
    /// cancelled and removed downloads have been deleted, if any.
    case idle
}
