/// Decides what a download requests next and whether it may restart again, across all attempts of a run.
struct ResumeStrategy: Sendable {
    /// The maximum number of restarts per run, for servers that send another entity tag with each response.
    static let maxRestarts = 3

    private let policy: DownloadRequest.ResumePolicy
    /// Whether a checksum verifies at the end that all bytes belong together.
    private(set) var isVerifiedAtEnd: Bool
    /// Whether bytes were combined that only the checksum can show to belong together.
    private(set) var isUnverified = false
    /// Whether the received bytes are of another source, so that only an entity tag can match: many files share a date.
    private var isOtherSource = false
    private var restarts = 0
    private(set) var sendsIfRange = true
    /// Whether conditions are assumed to be supported by the server.
    private(set) var sendsCondition = true
    /// The reason why the received bytes cannot be resumed; they are retained until a response replaces them.
    private(set) var pendingRestart: RestartReason?
    /// Whether the next response must verify that the received bytes, which ended with an HTTP/2 stream, are the whole file.
    private(set) var verifiesEnd = false
    /// Whether requests are sent over HTTP/1.1, where the last chunk marks the end of a body without a length.
    private(set) var avoidsHTTP2 = false
    /// Whether the end was already requested over the other version of HTTP.
    private var hasChangedVersion = false

    init(_ policy: DownloadRequest.ResumePolicy, isVerifiedAtEnd: Bool) {
        self.policy = policy
        self.isVerifiedAtEnd = isVerifiedAtEnd
    }

    /// The request for the first missing range of a version received in part.
    ///
    /// `inParts` is false if later bytes could not be kept; then everything up to the end is requested.
    mutating func nextRequest(_ held: ByteRangeSet, of known: RepresentationMetadata?, inParts: Bool) -> RangeRequest {
        let heldBytes = held.count
        if verifiesEnd, let known { return requestEnd(heldBytes, of: known) }
        guard heldBytes > 0, let known else {
            isOtherSource = false
            return .whole
        }
        if isOtherSource, !isVerifiedAtEnd, case .lastModified? = EntityValidator(of: known) {
            pendingRestart = .differentURL
        }
        let gap = held.firstGap(from: 0) ?? 0..<Int64.max
        let start = gap.lowerBound
        // To compare all received bytes would mean to download all of them.
        let isCompared =
            policy == .overlap && !isVerifiedAtEnd && EntityValidator(of: known) == nil
            && start > RangeRequest.overlapBytes
        let end = inParts && gap.upperBound < held.end ? gap.upperBound : nil
        guard let range = ByteRange(from: isCompared ? start - RangeRequest.overlapBytes : start, to: end) else {
            return .whole
        }
        // The response is still compared with the known version, so that a login page does not replace the bytes.
        let whole = RangeRequest(known: known, heldBytes: heldBytes)
        guard pendingRestart == nil else { return whole }
        do throws(RestartReason) {
            let rangeRequest = try RangeRequest(
                continuing: known,
                with: range,
                // Bytes beyond the gap are discarded for one stream.
                heldBytes: isCompared ? start : heldBytes,
                deferredVerification: isVerifiedAtEnd ? .checksum : isCompared ? .overlap : nil
            )
            return sendsIfRange ? rangeRequest : rangeRequest.withoutIfRange
        } catch {
            pendingRestart = error
            return whole
        }
    }

    /// Requests the bytes after those that ended with an HTTP/2 stream, or the whole file if the server sends no ranges.
    private func requestEnd(_ heldBytes: Int64, of known: RepresentationMetadata) -> RangeRequest {
        var rangeRequest = RangeRequest(known: known, heldBytes: heldBytes)
        rangeRequest.verifiesEnd = true
        if pendingRestart == nil, !known.refusesRanges, known.contentCoding == nil {
            rangeRequest.range = ByteRange(from: heldBytes)
            rangeRequest.ifRange = EntityValidator(of: known)
            rangeRequest.deferredVerification = isVerifiedAtEnd ? .checksum : nil
        }
        return rangeRequest
    }

    /// Makes the next request verify the end of the received bytes, first over HTTP/2 if the server announces ranges.
    mutating func mustVerifyEnd(announcesRanges: Bool) {
        verifiesEnd = true
        hasChangedVersion = false
        avoidsHTTP2 = !announcesRanges
    }

    /// Switches to the other version of HTTP; returns `false` if the end could not be verified over either.
    mutating func changeVersion() -> Bool {
        guard !hasChangedVersion else { return false }
        hasChangedVersion = true
        avoidsHTTP2.toggle()
        return true
    }

    /// Records that a part of the file cannot verify the end, so that the whole file is needed.
    mutating func needsWholeForEnd() {
        hasChangedVersion = true
        avoidsHTTP2 = true
    }

    /// Records that requests go to another source from now on.
    mutating func sourceChanged() {
        isOtherSource = true
    }

    /// Records that a response continues the received bytes.
    mutating func accepted(_ proof: RangeRequest.Proof) {
        verifiesEnd = false
        if case .later = proof { isUnverified = true }
        if isOtherSource { isUnverified = true }
    }

    /// From now on, bytes are combined only with a matching validator.
    mutating func stopTrustingChecksum() {
        isVerifiedAtEnd = false
    }

    /// Records that a response showed the received bytes to be unusable.
    mutating func mustRestart(_ reason: RestartReason) {
        pendingRestart = reason
    }

    /// Records that the received bytes were discarded; returns `false` after too many restarts.
    ///
    /// Restarts of unverifiable bytes do not count: each follows a failure, which is counted elsewhere.
    mutating func restarted(for reason: RestartReason) -> Bool {
        if !reason.isUnverifiable { restarts += 1 }
        isOtherSource = false
        isUnverified = false
        verifiesEnd = false
        sendsIfRange = true
        pendingRestart = nil
        return restarts <= Self.maxRestarts
    }

    mutating func stopSendingIfRange() {
        sendsIfRange = false
    }

    mutating func stopSendingCondition() {
        sendsCondition = false
    }
}
