public import HeadracePlatform

/// How one download of a list stands at a moment.
public struct DownloadSnapshot: Sendable, Hashable, Identifiable {
    /// The download's identity.
    public var id: DownloadID
    /// Its number in the queue, from 1, which it keeps until it is removed; `nil` if the queue has not taken it yet.
    ///
    /// Like the job numbers of a shell: the next download gets one more than the highest number in use. Positions change when
    /// downloads are moved, numbers do not.
    public var number: Int?
    /// What was asked for.
    public var request: DownloadRequest
    /// Where the download stands.
    public var state: DownloadState
    /// Its present priority, which may be another than the request's.
    public var priority: DownloadPriority
    /// How far it is.
    public var progress: DownloadProgress
    /// What of the network keeps it from running; nil where it does not wait for that.
    public var networkBlocker: NetworkBlocker?
    /// When a waiting download may run at the earliest, to the second; nil where it waits for no time.
    ///
    /// That is the end of the back-off after a failure, the time that the host has asked to wait for (`Retry-After`, RFC 9110,
    /// section 10.2.3), or ``DownloadRequest/earliestBegin``.
    public var nextAttempt: Date?
    /// The failure after which a waiting download is to be tried again; nil where it waits for something else.
    public var lastFailure: DownloadError?

    /// Creates a snapshot.
    /// - Parameters:
    ///   - id: The download's identity.
    ///   - number: Its number in the queue.
    ///   - request: What was asked for.
    ///   - state: Where the download stands.
    ///   - priority: Its present priority.
    ///   - progress: How far it is.
    ///   - networkBlocker: What of the network keeps it from running.
    ///   - nextAttempt: When it may run at the earliest.
    ///   - lastFailure: The failure after which it is to be tried again.
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

/// How far the downloads of a group are, as a whole.
public struct GroupProgress: Sendable, Hashable {
    /// How many of the downloads stand how; a state that none is in is left out.
    public var counts: [DownloadState.Kind: Int]
    /// Bytes that are received of all of them.
    public var bytesReceived: Int64
    /// The size of all of them in bytes; nil while the size of one that is wanted is not known.
    public var totalBytes: Int64?
    /// The sum of the smoothed speeds, in bytes per second.
    public var bytesPerSecond: Double

    /// The completed part of the group, from 0 to 1.
    ///
    /// The received part of the bytes if all sizes are known. Until then it is an estimate, in which each download counts the same:
    /// one of unknown size as 0 until it finishes.
    public var fractionCompleted: Double {
        guard let totalBytes else { return estimatedFraction }
        return totalBytes == 0 ? 1 : min(1, Double(bytesReceived) / Double(totalBytes))
    }

    /// Whether ``fractionCompleted`` is an estimate, since the size of some download is not known yet.
    public var isFractionEstimated: Bool { totalBytes == nil }

    private var estimatedFraction: Double

    /// True when none of the downloads waits, runs or is paused.
    public var isEnded: Bool {
        counts.allSatisfy { kind, count in count == 0 || kind.isEnded }
    }

    /// Sums up snapshots; of one that failed or was cancelled only the bytes count that are there.
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
    /// The sum, or the greatest number: a server may announce any size.
    fileprivate func addingWithoutOverflow(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
