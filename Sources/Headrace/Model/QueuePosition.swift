/// A position in the queue of a manager.
public enum QueuePosition: Sendable, Hashable {
    /// Before all other downloads.
    case first
    /// After all other downloads.
    case last
    /// Directly before the download with this identity.
    case before(DownloadID)
    /// Directly after the download with this identity.
    case after(DownloadID)
    /// At this index, counted from 0, in the queue that results from the move.
    case index(Int)
}
