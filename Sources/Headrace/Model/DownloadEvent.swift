public import HeadracePlatform

/// Something that happened to a download, with its reason.
public enum DownloadEvent: Sendable, Equatable {
    /// A place became free and the first request goes out.
    case started
    /// The server sent the request on to another URL (RFC 9110, section 15.4).
    case redirected(status: Int, from: URL, to: URL)
    /// The answer was accepted; `file` is the final name as planned now, `totalBytes` the size where known.
    case responded(status: Int, totalBytes: Int64?, file: URL)
    /// The download resumes: `bytesKept` bytes of an earlier attempt or run remain, the first that is missing is at the offset, and
    /// `proof` says why they belong to the same version.
    case resumed(from: Int64, bytesKept: Int64, proof: String)
    /// The bytes so far are of no use, and the download starts at zero.
    case restarted(reason: String, bytesWasted: Int64)
    /// The network is gone or not one that the request allows; the download goes on when that changes.
    case waitingForNetwork(NetworkBlocker)
    /// The network is gone or another one: the connections are given up, and what they brought is kept.
    case networkChanged
    /// An attempt failed, and the next one follows after a delay; attempts count from 1.
    case retrying(DownloadError, attempt: Int, after: Duration)
    /// One more connection, to the server of the first one or to a mirror, fetches these bytes of the file, which it may share
    /// with others later; so many are open then.
    case connectionOpened(range: Range<Int64>, from: URL, connections: Int)
    /// A connection was given up, and others fetch what it had left; `bytesWasted` came on it to no use.
    case connectionClosed(reason: String, bytesWasted: Int64)
    /// No further connection is opened, and why; `bytesWasted` have to be fetched again.
    case fellBackToOneConnection(reason: String, bytesWasted: Int64)
    /// A source of the file was abandoned, which the error's URL names, and `next` is used instead. A mirror that delivers parts
    /// beside other sources is abandoned if it fails, or if it is slower than they are.
    case sourceFailed(DownloadError, next: URL)
    /// The bytes are read from the disk for their checksum; ``DownloadProgress/bytesVerified`` tells how far that is.
    case verifying
    /// The file is what this checksum says, the request's or the server's; its name comes next.
    case verified(Checksum)
    /// The file is what the checksums of all its pieces say, where there is none of the whole.
    case piecesVerified(count: Int)
    /// The file is not what its checksum says; the pieces that are wrong or missing, or have changed on the disk, of so many
    /// bytes, are fetched again.
    ///
    /// The last piece counts as a whole one where the size of the file is not known. No pieces are wrong where a file that is
    /// there is only too long, by so many bytes.
    case repairing(pieces: Int, bytesWasted: Int64)
    /// Something that was tried is not used further, or that was asked for is not done, and why.
    case fellBack(String)
    /// The file exists already, and the conflict policy is to leave it.
    case skipped(URL)
    /// The file is there already, and the server has the same version; see ``DownloadRequest/refetchPolicy``.
    case unchanged(URL)
    /// All bytes are there under the final name.
    case finished(DownloadSummary)
    /// The download ended with an error.
    case failed(DownloadError)
    /// The download was paused.
    case paused
    /// The download was cancelled.
    case cancelled
    /// The download was taken out of the list.
    case removed
}

/// What a finished download took.
public struct DownloadSummary: Sendable, Equatable {
    /// The finished file.
    public var file: URL
    /// The size of the file in bytes.
    public var fileSize: Int64
    /// Body bytes that were fetched for it since it was last begun or resumed, retries included; more than the size where some
    /// had to be fetched again, and less where some were there.
    public var bytesFetched: Int64
    /// The time from the first request since then to the final name.
    public var duration: Duration
    /// False where the answer had no length and ended with its connection, so that a cut cannot be told from the end
    /// (RFC 9112, section 6.3), and the request has no ``DownloadRequest/expectedSize``.
    public var isLengthVerified: Bool

    /// Creates a summary.
    /// - Parameters:
    ///   - file: The finished file.
    ///   - fileSize: The size of the file in bytes.
    ///   - bytesFetched: Body bytes that were fetched.
    ///   - duration: The time from the first request to the final name.
    ///   - isLengthVerified: Whether the server or the request told where the file ends.
    public init(file: URL, fileSize: Int64, bytesFetched: Int64, duration: Duration, isLengthVerified: Bool) {
        self.file = file
        self.fileSize = fileSize
        self.bytesFetched = bytesFetched
        self.duration = duration
        self.isLengthVerified = isLengthVerified
    }
}
