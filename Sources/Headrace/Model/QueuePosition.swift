/// A position in the queue of a manager.
public enum QueuePosition: Sendable, Hashable {
    /// Before all other downloads.
    case first
    /// After all other downloads.
    case last
    /// Directly before another download.
    case before(DownloadID)
    /// Directly after another download.
    case after(DownloadID)
    /// At this index, from 0, in the queue without the moved download.
    case index(Int)
}
