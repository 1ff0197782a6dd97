/// Something that happened to a manager's list.
public enum QueueEvent: Sendable, Equatable {
    /// Downloads came in, in this order, at the end of the list.
    case added([DownloadID])
    /// A download stands otherwise.
    case stateChanged(DownloadID, DownloadState)
    /// A download has another place in the list.
    case moved(DownloadID)
    /// A download has another priority.
    case priorityChanged(DownloadID, DownloadPriority)
    /// A download is in the list no more.
    case removed(DownloadID)
    /// The limits on downloads at once are these from now on; nil is none.
    case limitsChanged(downloads: Int, perHost: Int?)
    /// The limit on bytes per second of a group, or with no group of all downloads, was set to this; nil is none.
    case rateLimitChanged(Int64?, group: String?)
    /// Something in the registry on the disk was not as it was written; all else is there. One sentence for a person.
    ///
    /// Told first to everybody who follows the events.
    case registryDamaged(String)
    /// The registry could not be written, or the commands of others not be read. The list goes on without, and what could
    /// not be written is tried again with the next change or the next ``DownloadManager/takeCommands()``.
    case registryFailed(DownloadError)
    /// The last of those that waited or ran does so no more.
    case idle
}
