/// What one download asks next, and how often it may still start again; over all attempts of a run.
struct ResumeStrategy: Sendable {
    /// How often a run may start at zero again, so that a server with another tag in each answer does not go on for ever.
    static let maxRestarts = 3

    private let policy: DownloadRequest.ResumePolicy
    /// Whether a checksum tells at the end whether all bytes belong together.
    private(set) var isVerifiedAtEnd: Bool
    /// Whether bytes were put together that only this can prove to belong together.
    private(set) var isUnverified = false
    /// Whether the held bytes are of another source than the one that is asked, where only an entity tag proves anything: many
    /// files have the same date.
    private var isOtherSource = false
    private var restarts = 0
    private(set) var sendsIfRange = true
    /// Whether a condition is believed to be understood.
    private(set) var sendsCondition = true
    /// Why the held bytes cannot be continued; they are kept until an answer to use in their place is there.
    private(set) var pendingRestart: RestartReason?
    /// Whether the next response is to verify that the held bytes, which ended with a stream of HTTP/2, are all of the file.
    private(set) var verifiesEnd = false
    /// Whether requests are sent over HTTP/1.1, where the last chunk marks the end of a body without a length.
    private(set) var avoidsHTTP2 = false
    /// Whether the end was requested over the other version of HTTP already.
    private var hasChangedVersion = false

    init(_ policy: DownloadRequest.ResumePolicy, isVerifiedAtEnd: Bool) {
        self.policy = policy
        self.isVerifiedAtEnd = isVerifiedAtEnd
    }

    /// What to ask for when bytes are held of a version that is not complete: those from the first missing one on, as far as
    /// they are missing.
    ///
    /// Where later bytes could not be kept, `inParts` is false, and all up to the end is asked for.
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
        // To compare all that is held is to fetch all of it.
        let isCompared =
            policy == .overlap && !isVerifiedAtEnd && EntityValidator(of: known) == nil
            && start > RangeRequest.overlapBytes
        let end = inParts && gap.upperBound < held.end ? gap.upperBound : nil
        guard let range = ByteRange(from: isCompared ? start - RangeRequest.overlapBytes : start, to: end) else {
            return .whole
        }
        // The answer is still held against what is known, so that a login page does not replace the bytes.
        let whole = RangeRequest(known: known, heldBytes: heldBytes)
        guard pendingRestart == nil else { return whole }
        do throws(RestartReason) {
            let rangeRequest = try RangeRequest(
                continuing: known,
                with: range,
                // What is held behind the gap is given up for one stream.
                heldBytes: isCompared ? start : heldBytes,
                deferredVerification: isVerifiedAtEnd ? .checksum : isCompared ? .overlap : nil
            )
            return sendsIfRange ? rangeRequest : rangeRequest.withoutIfRange
        } catch {
            pendingRestart = error
            return whole
        }
    }

    /// The bytes behind those that ended with a stream of HTTP/2, or the whole file if the server sends no parts of it.
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

    /// Requests the end of the held bytes, first over the connection that is there if the server announces ranges.
    mutating func mustVerifyEnd(announcesRanges: Bool) {
        verifiesEnd = true
        hasChangedVersion = false
        avoidsHTTP2 = !announcesRanges
    }

    /// The end could not be verified over one version of HTTP; returns false if neither could.
    mutating func changeVersion() -> Bool {
        guard !hasChangedVersion else { return false }
        hasChangedVersion = true
        avoidsHTTP2.toggle()
        return true
    }

    /// A response showed that the end cannot be verified by a part of the file, so that all of it is needed.
    mutating func needsWholeForEnd() {
        hasChangedVersion = true
        avoidsHTTP2 = true
    }

    /// Another source is asked from now on.
    mutating func sourceChanged() {
        isOtherSource = true
    }

    /// The bytes of an answer go on behind those that are held.
    mutating func accepted(_ proof: RangeRequest.Proof) {
        verifiesEnd = false
        if case .later = proof { isUnverified = true }
        if isOtherSource { isUnverified = true }
    }

    /// From now on bytes are put together only with proof at once.
    mutating func stopTrustingChecksum() {
        isVerifiedAtEnd = false
    }

    /// An answer showed that the held bytes are of no use.
    mutating func mustRestart(_ reason: RestartReason) {
        pendingRestart = reason
    }

    /// The held bytes are given up; false when that has happened too often for another reason than the failures, which are
    /// counted elsewhere.
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
