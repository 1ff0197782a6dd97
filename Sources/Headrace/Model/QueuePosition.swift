/// A place in a manager's list.
public enum QueuePosition: Sendable, Hashable {
    /// Before all others.
    case first
    /// After all others.
    case last
    /// Directly before another download.
    case before(Download.ID)
    /// Directly after another download.
    case after(Download.ID)
    /// So far from the start, from 0 on, counted without the download that is moved.
    case index(Int)
}
