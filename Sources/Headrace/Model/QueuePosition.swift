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
    /// At this index, counted from 0 as if the moved download had left the queue.
    case index(Int)
}
