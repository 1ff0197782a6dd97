extension DownloadManager {
    /// Something that happened to a manager's list.
    public enum Event: Sendable, Equatable {
        /// Downloads came in, in this order, at the end of the list.
        case added([Download.ID])
        /// A download stands otherwise.
        case stateChanged(Download.ID, DownloadState)
        /// A download has another place in the list.
        case moved(Download.ID)
        /// A download has another priority.
        case priorityChanged(Download.ID, DownloadPriority)
        /// A download is in the list no more.
        case removed(Download.ID)
        /// The limits on downloads at once are these from now on; nil is none.
        case limitsChanged(downloads: Int, perHost: Int?)
        /// The last of those that waited or ran does so no more.
        case idle
    }
}
