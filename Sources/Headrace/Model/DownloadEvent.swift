public import HeadracePlatform

/// An event of a download, with its reason; see ``Download/events``.
///
///     for await event in download.events {
///         if case .retrying(let error, let attempt, let delay) = event { log(error, attempt, delay) }
///     }
public enum DownloadEvent: Sendable, Equatable {
    /// The download changes from waiting to running; not reported if it runs again for a retry or on another network.
    case started
    /// The server redirected the request to another URL (RFC 9110, section 15.4).
    ///
    /// If a host is requested over https alone, the replacement of an http URL is reported as well, with the status
    /// 307: see ``DownloadConfiguration/hstsFile``.
    case redirected(status: Int, from: URL, to: URL)
    /// The response was accepted; `file` is the planned final URL, and `totalBytes` the size of the file, if known.
    case responded(status: Int, totalBytes: Int64?, file: URL)
    /// The download resumes at `from`, the offset of the first missing byte.
    ///
    /// `bytesKept` bytes of an earlier attempt or run are reused; `proof` states why they are of the same version as
    /// the missing bytes.
    case resumed(from: Int64, bytesKept: Int64, proof: ResumeProof)
    /// The received bytes cannot be used: the download restarts from zero and discards `bytesWasted` bytes.
    case restarted(reason: RestartReason, bytesWasted: Int64)
    /// There is no network that the request allows; the download resumes as soon as there is one.
    case waitingForNetwork(NetworkBlocker)
    /// The network was lost or changed: the connections are closed, and the received bytes are retained.
    case networkChanged
    /// An attempt failed and will be retried after a delay; `attempt` is the number of failures in a row, from 1.
    case retrying(DownloadError, attempt: Int, after: Duration)
    /// A further connection, new or reused, requests this byte range from the same server or a mirror; `connections` is
    /// the number of connections that the download uses now.
    ///
    /// A part of the range may be assigned to another connection later.
    case connectionOpened(range: Range<Int64>, from: URL, connections: Int)
    /// A connection was closed early, and other connections download the rest of its range; `bytesWasted` of its bytes
    /// were discarded.
    case connectionClosed(reason: ConnectionEndReason, bytesWasted: Int64)
    /// The download no longer opens several connections at once; `bytesWasted` bytes must be downloaded again.
    case fellBackToOneConnection(reason: ConnectionEndReason, bytesWasted: Int64)
    /// The download has a new bottleneck, which has lasted for two seconds; `nil` if the bottleneck is now unknown.
    ///
    /// Reported only for a bottleneck that the measurements show clearly, and for files of at least 1 MiB or of unknown
    /// size.
    case limited(by: Bottleneck?)
    /// A source of the file failed, is too slow or requires a delay, so `next` is used instead: another source, or a
    /// new URL from the link provider.
    ///
    /// The error contains the URL of the abandoned source. If several sources deliver parts of the file, a mirror is
    /// abandoned if it fails or is slower than the others.
    case sourceFailed(DownloadError, next: URL)
    /// The downloaded file, or an existing one, is being read from disk to compute its checksum; see
    /// ``DownloadProgress/bytesVerified``.
    case verifying
    /// The downloaded file, or an existing one, matches this checksum from the request or the server.
    case verified(Checksum)
    /// All pieces of the file match their checksums; reported only if there is no checksum of the whole file.
    case piecesVerified(count: Int)
    /// A checksum does not match: `pieces` pieces are wrong, missing or changed on disk, and `bytesWasted` bytes are
    /// downloaded again.
    ///
    /// If the size of the file is unknown, the last piece counts as a full one. If an existing file is only too long,
    /// `pieces` is 0 and `bytesWasted` is the excess.
    case repairing(pieces: Int, bytesWasted: Int64)
    /// A request ended, with these times; reported only with ``DownloadConfiguration/collectsMetrics``.
    case requestEnded(RequestMetrics)
    /// The download continues, but something is not as requested or expected.
    case notice(Notice)
    /// The existing file is the result of the download.
    ///
    /// The conflict policy is ``DownloadRequest/ConflictPolicy/skip``, or an earlier process completed the file, but
    /// ended before it could record that.
    case skipped(URL)
    /// The file exists already and is the server's current version, or matches the checksums of the request; see
    /// ``DownloadRequest/refetchPolicy-swift.property``.
    case unchanged(URL)
    /// The file is complete and has its final name.
    case finished(DownloadSummary)
    /// The download failed.
    case failed(DownloadError)
    /// The download was paused.
    case paused
    /// The download was cancelled.
    case cancelled
    /// The download was removed from the queue.
    case removed
}

/// The result of a finished download.
public struct DownloadSummary: Sendable, Equatable {
    /// The finished file.
    public var file: URL
    /// The size of the file in bytes.
    public var fileSize: Int64
    /// The number of body bytes received since the download was last started or resumed, including retries.
    ///
    /// The number exceeds the file size if bytes were downloaded again, and is below it if bytes of an earlier run were
    /// used.
    public var bytesFetched: Int64
    /// The time since the download was last started or resumed, until the file had its final name.
    ///
    /// Delays before retries are included, but not the time for which the download waited to be started.
    public var duration: Duration
    /// Whether the length of the file is certain.
    ///
    /// `false` if only the end of the connection marked the end of the file: the connection may have been lost early
    /// (RFC 9112, section 6.3). Always `true` for a decompressed file and with a ``DownloadRequest/expectedSize``.
    public var isLengthVerified: Bool

    /// Creates a summary.
    /// - Parameters:
    ///   - file: The finished file.
    ///   - fileSize: The size of the file in bytes.
    ///   - bytesFetched: The number of body bytes received.
    ///   - duration: The time from the start of the download until the file had its final name.
    ///   - isLengthVerified: Whether the length of the file is certain.
    public init(file: URL, fileSize: Int64, bytesFetched: Int64, duration: Duration, isLengthVerified: Bool) {
        self.file = file
        self.fileSize = fileSize
        self.bytesFetched = bytesFetched
        self.duration = duration
        self.isLengthVerified = isLengthVerified
    }
}
