/// Decides which range a download requests next, and whether it may restart again; part of ``TransferState``.
struct ResumeStrategy: Sendable {
    /// The maximum number of restarts: some servers force a restart with a new entity tag in each response.
    static let maxRestarts = 3

    private let policy: DownloadRequest.ResumePolicy
    /// Whether a checksum of the complete file verifies at the end that all bytes are of one version.
    private(set) var isVerifiedAtEnd: Bool
    /// Whether received bytes were combined without a matching validator, or came from several sources, so that only
    /// the checksum can verify them.
    private(set) var isUnverified = false
    /// Whether the received bytes are from another source than the current one; only an entity tag can validate such
    /// bytes, as many files share a date.
    private var isOtherSource = false
    private var restarts = 0
    private(set) var sendsIfRange = true
    /// Whether a request for the whole file may be conditional; `false` for methods other than GET, and after a 304
    /// response that could not be used.
    private(set) var sendsCondition = true
    /// The reason why the received bytes must be replaced; they are kept until a response that replaces them arrives.
    private(set) var pendingRestart: RestartReason?
    /// Whether the next response must verify that the received bytes are the whole file, because their end was marked
    /// only by the end of an HTTP/2 stream.
    private(set) var verifiesEnd = false
    /// Whether requests are sent over HTTP/1.1, because libcurl may report a lost HTTP/2 connection as the end of a
    /// body without a length.
    private(set) var avoidsHTTP2 = false
    /// Whether no other version of HTTP is left to verify the end with.
    private var hasChangedVersion = false

    init(_ policy: DownloadRequest.ResumePolicy, isVerifiedAtEnd: Bool) {
        self.policy = policy
        self.isVerifiedAtEnd = isVerifiedAtEnd
    }

    /// Returns the request for the first missing range, or for the whole file if there are no bytes to resume.
    ///
    /// If received bytes cannot be resumed, ``pendingRestart`` is set to the reason. If ``verifiesEnd`` is `true`,
    /// returns the request that verifies the end instead.
    ///
    /// If `inParts` is `false`, the bytes after the first gap cannot be kept, so the request extends to the end of the
    /// file.
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
        // With at most `overlapBytes` received, a comparison would download all of them again.
        let isCompared =
            policy == .overlap && !isVerifiedAtEnd && EntityValidator(of: known) == nil && known.contentCoding == nil
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
                // If bytes are compared, the bytes beyond the gap are discarded: one response delivers all further
                // bytes.
                heldBytes: isCompared ? start : heldBytes,
                deferredVerification: isVerifiedAtEnd ? .checksum : isCompared ? .overlap : nil
            )
            return sendsIfRange ? rangeRequest : rangeRequest.withoutIfRange
        } catch {
            pendingRestart = error
            return whole
        }
    }

    /// Returns a request that verifies the end of the received bytes: for the bytes after them, or for the whole file
    /// if they cannot be resumed.
    private func requestEnd(_ heldBytes: Int64, of known: RepresentationMetadata) -> RangeRequest {
        var rangeRequest = RangeRequest(known: known, heldBytes: heldBytes)
        rangeRequest.verifiesEnd = true
        if pendingRestart == nil, !known.refusesRanges, !known.hasUnrequestedCoding {
            rangeRequest.range = ByteRange(from: heldBytes)
            rangeRequest.ifRange = EntityValidator(of: known)
            rangeRequest.deferredVerification = isVerifiedAtEnd ? .checksum : nil
        }
        return rangeRequest
    }

    /// Makes the next request verify the end of the received bytes: over HTTP/2 if the server announces ranges, else
    /// over HTTP/1.1.
    mutating func mustVerifyEnd(announcesRanges: Bool) {
        verifiesEnd = true
        hasChangedVersion = false
        avoidsHTTP2 = !announcesRanges
    }

    /// Switches to the other version of HTTP; returns `false` if no other version is left to try.
    mutating func changeVersion() -> Bool {
        guard !hasChangedVersion else { return false }
        hasChangedVersion = true
        avoidsHTTP2.toggle()
        return true
    }

    /// Records that a range request cannot verify the end, so that the whole file must be requested, over HTTP/1.1.
    mutating func needsWholeForEnd() {
        hasChangedVersion = true
        avoidsHTTP2 = true
    }

    /// Records that the next requests use another source.
    mutating func sourceChanged() { isOtherSource = true }

    /// Records that a response was accepted.
    /// - Parameter proof: The evidence that the response has the version of the received bytes; `nil` if it does not
    ///   continue received bytes.
    mutating func accepted(_ proof: ResumeProof?) {
        verifiesEnd = false
        if proof == .checksum || proof == .overlap { isUnverified = true }
        if isOtherSource { isUnverified = true }
    }

    /// Stops combining bytes only because a checksum is expected.
    ///
    /// From then on, bytes are combined only if a validator matches or, with the policy `overlap`, if the overlapping
    /// bytes are equal.
    mutating func stopTrustingChecksum() { isVerifiedAtEnd = false }

    /// Records the reason why the next response must replace the received bytes.
    mutating func mustRestart(_ reason: RestartReason) { pendingRestart = reason }

    /// Records that the received bytes were discarded; returns `false` after more than ``maxRestarts`` restarts.
    ///
    /// Discarding unverifiable bytes does not count as a restart: it can only happen again after another failed
    /// attempt, and the retry budgets limit those.
    mutating func restarted(for reason: RestartReason) -> Bool {
        if !reason.isUnverifiable { restarts += 1 }
        isOtherSource = false
        isUnverified = false
        verifiesEnd = false
        sendsIfRange = true
        pendingRestart = nil
        return restarts <= Self.maxRestarts
    }

    mutating func stopSendingIfRange() { sendsIfRange = false }

    mutating func stopSendingCondition() { sendsCondition = false }
}
