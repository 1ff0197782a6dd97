public import HeadracePlatform

/// A selection of downloads in a queue.
///
///     try await manager.pause(.group("episodes"))
///     let failed = try manager.downloads(.state(.failed))
public enum DownloadSelection: Sendable, Hashable {
    /// All downloads.
    case all
    /// The downloads with these identities; the operation throws `unknownDownload` if one of them is not in the queue.
    case downloads([DownloadID])
    /// The downloads of a group; see ``DownloadRequest/group``.
    case group(String)
    /// The downloads whose request has this URL.
    case url(URL)
    /// The downloads in this state.
    case state(DownloadState.Kind)
}
