public import HeadracePlatform

/// The state, progress and priority of a download at one moment.
///
/// In the snapshots of a ``DownloadRegistry``, ``networkBlocker``, ``nextAttempt`` and ``lastFailure`` are always
/// `nil`, because a registry does not save them.
public struct DownloadSnapshot: Sendable, Hashable, Identifiable {
    /// The download's identity.
    public var id: DownloadID
    /// The number of the download, from 1, unchanged until the download is removed; `nil` if not yet assigned.
    ///
    /// Numbers work like the job numbers of a shell: a new download gets one more than the highest number in use.
    /// Moving a download changes its position, but not its number.
    public var number: Int?
    /// The position in the queue, from 0; `nil` in the snapshots of a group.
    public var position: Int?
    /// The time at which the download was added; `nil` if unknown.
    public var added: Date?
    /// The time at which the download last started; `nil` if it has not started yet, or if the time is unknown.
    ///
    /// A retry is not a start.
    public var started: Date?
    /// The time at which the download finished, failed or was cancelled; `nil` in any other state, or if unknown.
    public var ended: Date?
    /// The request that the download was added with, updated by later changes such as ``Download/setURL(_:)``.
    public var request: DownloadRequest
    /// The state of the download at this moment.
    public var state: DownloadState
    /// The current priority, which may differ from the request's.
    public var priority: DownloadPriority
    /// The bytes received so far, and the speed of the download.
    public var progress: DownloadProgress
    /// The reason why the download waits for the network; `nil` if it is not waiting for the network.
    public var networkBlocker: NetworkBlocker?
    /// The earliest time at which a waiting download may start, rounded up to the second; `nil` if no delay applies.
    ///
    /// This is the end of the delay before a retry, the time requested by the host (`Retry-After`, RFC 9110, section
    /// 10.2.3), or ``DownloadRequest/earliestBegin``.
    public var nextAttempt: Date?
    /// The last failure of a download that is waiting for a retry; otherwise `nil`.
    public var lastFailure: DownloadError?
    /// The directory for partial files of the manager; `nil` if they are beside their destinations.
    var partialsDirectory: URL?

    /// Creates a snapshot.
    /// - Parameters:
    ///   - id: The download's identity.
    ///   - number: The number of the download, from 1.
    ///   - request: The request that the download was added with.
    ///   - state: The state of the download.
    ///   - priority: The current priority.
    ///   - progress: The bytes received so far, and the speed of the download.
    ///   - networkBlocker: The reason why the download waits for the network.
    ///   - nextAttempt: The earliest time at which the download may start.
    ///   - lastFailure: The last failure of a download that is waiting for a retry.
    public init(
        id: DownloadID,
        number: Int? = nil,
        request: DownloadRequest,
        state: DownloadState,
        priority: DownloadPriority = .normal,
        progress: DownloadProgress = DownloadProgress(),
        networkBlocker: NetworkBlocker? = nil,
        nextAttempt: Date? = nil,
        lastFailure: DownloadError? = nil
    ) {
        self.id = id
        self.number = number
        self.request = request
        self.state = state
        self.priority = priority
        self.progress = progress
        self.networkBlocker = networkBlocker
        self.nextAttempt = nextAttempt
        self.lastFailure = lastFailure
    }
}

/// The combined progress of the downloads of a group.
public struct GroupProgress: Sendable, Hashable {
    /// The number of downloads in each state; states without downloads are omitted.
    public var counts: [DownloadState.Kind: Int]
    /// The total number of bytes that the downloads have received.
    public var bytesReceived: Int64
    /// The total size in bytes; `nil` while the size of a waiting, running or paused download is unknown.
    public var totalBytes: Int64?
    /// The sum of the smoothed speeds of running downloads, in bytes per second.
    public var bytesPerSecond: Double

    /// The completed part of the group, from 0 to 1.
    ///
    /// If all sizes are known, this is the received fraction of the bytes. Until then it is an estimate: every download
    /// has the same weight, and a download of unknown size counts as 0 until it ends.
    public var fractionCompleted: Double {
        guard let totalBytes else { return estimatedFraction }
        return totalBytes == 0 ? 1 : min(1, Double(bytesReceived) / Double(totalBytes))
    }

    /// Whether ``fractionCompleted`` is an estimate, because a size is still unknown.
    public var isFractionEstimated: Bool { totalBytes == nil }

    /// The estimated remaining time at the present speed.
    ///
    /// This is `nil` if a size is unknown, if no bytes arrive, or if the time exceeds a hundred years.
    public var timeRemaining: Duration? {
        guard let totalBytes else { return nil }
        return DownloadProgress.timeRemaining(max(0, totalBytes - bytesReceived), bytesPerSecond: bytesPerSecond)
    }

    private var estimatedFraction: Double

    /// Whether no download is waiting, running or paused.
    public var isEnded: Bool {
        counts.allSatisfy { kind, count in count == 0 || kind.isEnded }
    }

    /// Combines the snapshots of a group's downloads.
    ///
    /// A failed or cancelled download adds only its received bytes to ``totalBytes``, since the rest will not arrive.
    /// - Parameter downloads: The downloads of the group.
    public init(of downloads: some Sequence<DownloadSnapshot>) {
        (counts, bytesReceived, bytesPerSecond) = ([:], 0, 0)
        var total: Int64? = 0
        var (completed, count) = (0.0, 0.0)
        for download in downloads {
            counts[download.state.kind, default: 0] += 1
            let received = download.progress.bytesReceived
            bytesReceived = bytesReceived.addingWithoutOverflow(received)
            if download.state.kind == .running { bytesPerSecond += download.progress.bytesPerSecond }
            let size = download.state.isEnded ? received : download.progress.totalBytes
            completed += download.state.isEnded ? 1 : download.progress.fractionCompleted ?? 0
            count += 1
            total = total.flatMap { total in size.map { total.addingWithoutOverflow($0) } }
        }
        totalBytes = total
        estimatedFraction = count == 0 ? 1 : completed / count
    }
}

extension Int64 {
    /// Returns the sum, or `Int64.max` on overflow: a server may announce any size.
    fileprivate func addingWithoutOverflow(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
