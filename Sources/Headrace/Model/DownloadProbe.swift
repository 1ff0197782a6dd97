public import HeadracePlatform

/// A server's response to a request, and the effect that a download of the request would have on existing files.
///
///     let probe = try await manager.probe(DownloadRequest(url, to: .directory(folder)))
///     print(probe.file.lastPathComponent, probe.totalBytes ?? 0)
///     if case .replaces = probe.outcome { print("An existing file would be replaced.") }
///
/// The response to a later download may differ.
public struct DownloadProbe: Sendable, Hashable {
    /// The effect of a download on a file that already has the name of the new one.
    public enum Outcome: Sendable, Hashable {
        /// No file has the name ``DownloadProbe/file``.
        case creates
        /// The existing file is replaced.
        case replaces
        /// The existing file is replaced unless it is up to date.
        ///
        /// With checksums in the request, a file is up to date if it matches them.
        case replacesIfChanged
        /// The existing file stays, and the new one is saved under this free name.
        case savesBeside(URL)
        /// The existing file is the result if it is up to date.
        ///
        /// Otherwise the existing file stays, and the server's version is saved under this free name.
        case savesBesideIfChanged(URL)
        /// The existing file is the result, and nothing is downloaded.
        case skips
        /// The download fails because of the existing file or directory, or because no numbered name is free.
        case fails
    }

    /// The requested URL, without a login: the URL of the request or, if that failed, one of its mirrors.
    public let source: URL
    /// The URL that responded, after all redirects; without a login.
    public let url: URL
    /// The status code of the response, such as 200.
    public let status: Int
    /// The destination of the file, with the name from the request, the response or the URL.
    public let file: URL
    /// The effect of a download on an existing file with that name.
    public let outcome: Outcome
    /// The size of the file in bytes; `nil` if the server did not send it.
    public let totalBytes: Int64?
    /// Whether the server announces support for range requests; `nil` if `Accept-Ranges` contains neither `bytes` nor
    /// `none`, or is missing.
    public let acceptsRanges: Bool?
    /// Whether the server announces support for range requests and sent a strong validator, so that an interrupted
    /// download can be resumed.
    public let isResumable: Bool
    /// The entity tag as received, such as `"33a64df5"` with its quotation marks; `nil` if the server sent none.
    public let entityTag: String?
    /// The modification date of the file; `nil` if the server sent no valid date.
    public let lastModified: Date?
    /// The media type in lower case, without parameters, such as `application/gzip`; `nil` if the server sent none.
    public let mediaType: String?
    /// The strongest checksum from fields for the whole file, such as `Repr-Digest`; `nil` if there is none.
    ///
    /// `Content-Digest`, `Content-MD5` and `X-Amz-Checksum-…` are ignored, since they are for the body of one response.
    /// The checksum detects transmission errors, but not forgeries.
    public let checksum: Checksum?
}
