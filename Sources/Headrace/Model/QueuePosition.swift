/// A place in a manager's list.
public enum QueuePosition: Sendable, Hashable {
    /// Before all others.
    case first
    /// After all others.
    case last
    /// Directly before another download.
    case before(DownloadID)
    /// Directly after another download.
    case after(DownloadID)
    /// So far from the start, from 0 on, counted without the download that is moved.
    case index(Int)
}
