/// A place in a manager's list.
public enum ListPlace: Sendable, Hashable {
    /// Before all others.
    case first
    /// After all others.
    case last
    /// Directly before another download, or at the end where that is not in the list.
    case before(Download.ID)
    /// Directly after another download, or at the end where that is not in the list.
    case after(Download.ID)
    /// So far from the start, counted without the download that is moved.
    case index(Int)
}
