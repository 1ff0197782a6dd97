public import HeadracePlatform

/// Which downloads of a list a verb is for.
public enum DownloadSelection: Sendable, Hashable {
    /// All of them.
    case all
    /// These; one that is not in the list makes the verb throw `unknownDownload`.
    case downloads([DownloadID])
    /// Those of a group; see ``DownloadRequest/group``.
    case group(String)
    /// Those that were asked for by this URL.
    case url(URL)
    /// Those that stand so.
    case state(DownloadState.Kind)
}
