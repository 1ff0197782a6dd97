import HeadracePlatform

/// Handles an accepted body, from its first byte until the file has its final name.
extension DownloadTransfer {
    /// The minimum size in bytes of a partial response after which the next request is sent without a delay.
    private static let minPartBytes: Int64 = 4096
    /// The minimum file size in bytes for concurrent checkpoints; smaller files do not justify a task group.
    private static let minConcurrentBytes: Int64 = 1 << 20

    /// How a connection stopped reading its body.
    private enum BodyEnd: Sendable {
        /// The body ended, or its further bytes are not needed.
        case complete
        /// A reader needs other bytes first.
        case readerDemand
        /// The server sent bytes again, and they differ from those received before.
        case restart(RestartReason)
    }

    /// Writes a response body to the partial file and, if the file is then complete, finishes the download.
    mutating func fetch(
        _ response: Response,
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        for path: String
    ) async throws -> Step {
        try begin(accepted, response, for: path)
        let (hosts, url) = (environment.hosts, response.head.url)
        // Short downloads are not worth counting.
        let isCounted = accepted.totalBytes ?? .max >= Self.minConcurrentBytes
        if isCounted { _ = hosts.share(of: record.id, url, wanting: 1, at: environment.clock.now()) }
        defer { if isCounted { hosts.release(record.id, url, at: environment.clock.now()) } }
        if isCounted, monitor == nil { monitor = BottleneckMonitor(record, environment.clock) }
        let floor = environment.configuration.speedFloor
        var pump = BodyPump(body, accepted, floor, for: record, in: environment, isCounted ? monitor : nil)
        // Checked before the state is copied for the segmented fetch.
        if SegmentedFetch.isPossible(for: self, after: response, accepted),
            let segments = SegmentedFetch(of: self, response, accepted)
        {
            return try await fetch(segments, pump, for: path)
        }
        if partial.hasGaps { try abandonParts() }
        // If a reader arrives later, the missing bytes are fetched in segments, even if only one connection is allowed.
        let mayStop = SegmentedFetch.isPossible(for: self, after: response, accepted)
        while true {
            switch try await write(&pump, for: path, mayStop: mayStop) {
            case .complete: return try await received(accepted, response, for: path)
            case .restart(let reason): return try requestAgain(for: reason)
            case .readerDemand:
                pump.restart(at: partial.heldBytes)
                if let segments = SegmentedFetch(of: self, response, pump.placement) {
                    return try await fetch(segments, pump, for: path)
                }
            }
        }
    }

    /// Prepares the partial file and the verification for an accepted body, and publishes the response.
    private mutating func begin(
        _ accepted: BodyPlacement,
        _ response: Response,
        for path: String
    ) throws(DownloadError) {
        var accepted = accepted
        // Stored for later runs too, whose first source may have the same date.
        if accepted.proof == nil {
            if !state.sources.isFirst { accepted.representation.isFromMirror = true }
            accepted.representation.requesterFingerprint = partial.requesterFingerprint
        }
        let file = URL(filePath: path, directoryHint: .notDirectory)
        state.reportedFile = (path, file)
        publish(.responded(status: response.head.status, totalBytes: accepted.totalBytes, file: file))
        if let coding = accepted.representation.contentCoding, !state.hasReportedCoding {
            state.hasReportedCoding = true
            publish(.notice(.encoded(coding: String(coding.prefix(100)).printable)))
        }
        if response.head.status == 203 { publish(.notice(.transformed)) }
        // An overlapping response is not trusted until its bytes have been compared.
        if accepted.overlapBytes == 0 { try partial.begin(accepted, for: path) }
        state.meter.totalBytes = accepted.totalBytes ?? expectedSize
        try expect(response.head, for: path)
    }

    /// Adopts the expected checksum from an accepted response and, if the origin sent it, the mirrors in the response
    /// (RFC 6249).
    ///
    /// Mirrors are used only if a checksum verifies the file. For an https response, mirrors over http are used only if
    /// the configuration allows it.
    mutating func expect(_ head: ResponseHead, for path: String) throws(DownloadError) {
        let isOrigin = state.sources.isOrigin
        try state.verification.begin(head, ofOrigin: isOrigin, beside: partial.held)
        let verification = state.verification
        partial.keepPieces(verification.expected != nil && verification.pieces == nil)
        partial.keepChecksum(verification.isFromServer ? verification.expected : nil)
        if state.resume.isUnverified, verification.isNeeded { partial.markUnverified() }
        guard isOrigin else { return }
        guard verification.expected != nil else { return state.sources.forgetAdvertised() }
        let mirrors = MirrorLink.urls(of: head, allowsInsecure: environment.configuration.allowsInsecureRedirects)
        guard !mirrors.isEmpty else { return }
        state.originPath = path
        state.verification.bind()
        state.sources.join(mirrors)
    }

    /// Downloads the missing bytes over several connections.
    private mutating func fetch(_ segments: SegmentedFetch, _ pump: BodyPump, for path: String) async throws -> Step {
        let failure = await segments.run(with: pump, &self)
        do {
            try partial.settle()
        } catch {
            throw failure ?? error
        }
        if partial.heldBytes == pump.placement.totalBytes {
            return try await complete(path, pump.placement.framing)
        }
        if let failure { throw failure }
        try Task.checkCancellation()
        state.parts.lower()
        return .again
    }

    /// Discards the received bytes after the first gap, so that a single connection can deliver all missing bytes.
    private mutating func abandonParts() throws(DownloadError) {
        let bytes = try partial.abandonParts()
        publish(.fellBackToOneConnection(reason: .unverifiedParts, bytesWasted: bytes))
        correctMeter()
    }

    /// Decides what follows a body that a single connection has read.
    private mutating func received(
        _ accepted: BodyPlacement,
        _ response: Response,
        for path: String
    ) async throws -> Step {
        let (held, size) = (partial.heldBytes, expectedSize)
        // A smaller expected size may have been set meanwhile; it is checked before the next request.
        if let size, held > size, accepted.length != nil { return .again }
        let received = held - accepted.offset
        if let length = accepted.length, received < length {
            throw DownloadError(.connectionLost, "The server announced \(length) bytes and sent \(received).")
        }
        // If the body ends with the connection, only the expected size reveals a truncation.
        if accepted.length == nil, accepted.framing != .delimited, let size, held < size {
            throw DownloadError(.connectionLost, "The connection ended after \(held) of the \(size) bytes expected.")
        }
        // If the file size is unknown, only the next response reveals whether this part was the last.
        if accepted.totalBytes.map({ $0 == held }) ?? (accepted.length == nil) {
            guard accepted.endsWithStream, size == nil, !state.verification.isNeeded else {
                return try await complete(path, accepted.framing)
            }
            state.resume.mustVerifyEnd(announcesRanges: response.head.acceptsRanges == true)
            return .again
        }
        if let total = accepted.totalBytes, held > total {
            throw DownloadError(.protocolViolation, "The server announced \(total) bytes and sent \(held).")
        }
        // A server that sends tiny parts is retried with delays, and not forever.
        guard received >= Self.minPartBytes else {
            throw DownloadError(.connectionLost, "The server sent only \(received) of the requested bytes.")
        }
        return .again
    }

    // MARK: Writing

    /// Writes the body to the disk, with concurrent syncs unless the file is small.
    private mutating func write(_ pump: inout BodyPump, for path: String, mayStop: Bool) async throws -> BodyEnd {
        guard pump.placement.totalBytes ?? .max >= Self.minConcurrentBytes else {
            return try await copy(&pump, for: path, mayStop: mayStop) { transfer, count, isCheckpointDue in
                if isCheckpointDue { try transfer.partial.settle() }
                let progress = transfer.state.meter.received(count, at: transfer.environment.clock.now())
                if let progress { transfer.record.status.publish(progress) }
            }
        }
        let meter = SharedMeter(state.meter)
        defer { state.meter = meter.value }
        let end: BodyEnd
        do {
            end = try await withThrowingDiscardingTaskGroup { group in
                group.addTask { [record, monitor, clock = environment.clock] in
                    await meter.reportSilence(to: record, monitor, clock)
                }
                defer { group.cancelAll() }
                return try await copy(&pump, for: path, mayStop: mayStop) { transfer, count, isCheckpointDue in
                    if isCheckpointDue, let target = transfer.partial.target {
                        group.addTask { [ledger = transfer.partial.ledger] in ledger.work(on: target) }
                    }
                    let progress = meter.received(count, at: transfer.environment.clock.now())
                    if let progress { transfer.record.status.publish(progress) }
                }
            }
        } catch {
            // Only the first failure is reported.
            try? partial.settle()
            throw error
        }
        try partial.settle()
        return end
    }

    /// Writes the body to the disk; passes the number of new bytes, and whether a checkpoint is due, to `wrote`.
    private mutating func copy(
        _ pump: inout BodyPump,
        for path: String,
        mayStop: Bool,
        _ wrote: (inout DownloadTransfer, Int, Bool) throws -> Void
    ) async throws -> BodyEnd {
        let accepted = pump.placement
        var end = BodyEnd.complete
        try await pump.run { bytes, piece, isWriting in
            state.fetched(bytes.count)
            let offset = partial.heldBytes
            try sizeLimit.check(offset + Int64(piece.written.count))
            if !piece.compared.isEmpty, try !compare(bytes, piece, accepted, for: path) {
                end = .restart(.overlapDiffers)
                return false
            }
            let new = UnsafeRawBufferPointer(rebasing: bytes[piece.written])
            let isCheckpointDue = try partial.append(new, at: offset, monitor)
            state.verification.update(new, at: offset)
            try wrote(&self, new.count, isCheckpointDue)
            // A file that is already too long need not be received to its end.
            if let size = expectedSize, offset + Int64(new.count) > size { return false }
            guard mayStop, isWriting, SegmentedFetch.isServing(partial) else { return true }
            end = .readerDemand
            return false
        }
        guard case .complete = end, !pump.hasCompared else { return end }
        throw DownloadError(.connectionLost, "The server sent less than requested.")
    }

    /// Compares bytes that the server sent again with those received before, and accepts the rest of the body once all
    /// repeated bytes match; returns `false` if any differ.
    private mutating func compare(
        _ bytes: UnsafeRawBufferPointer,
        _ piece: BodySlicer.Piece,
        _ accepted: BodyPlacement,
        for path: String
    ) throws(DownloadError) -> Bool {
        let repeated = UnsafeRawBufferPointer(rebasing: bytes[piece.compared])
        guard try partial.holds(repeated, at: piece.comparedOffset) else { return false }
        guard piece.comparedOffset + Int64(repeated.count) == accepted.offset else { return true }
        try partial.begin(accepted, for: path)
        reportResumed(accepted)
        return true
    }
}

extension SharedMeter {
    /// Publishes the progress at intervals even if no bytes arrive, so that the shown speed falls.
    fileprivate func reportSilence(
        to record: DownloadRecord,
        _ monitor: BottleneckMonitor?,
        _ clock: AnyClock
    ) async {
        while (try? await clock.sleep(clock.now() + ProgressMeter.longestSilence)) != nil {
            if let progress = received(0, at: clock.now()) { record.status.publish(progress) }
            monitor?.update(nil, at: clock.now())
        }
    }
}

extension DownloadConfiguration {
    var speedFloor: MinimumSpeedMonitor? {
        minimumSpeed.map { MinimumSpeedMonitor(bytesPerSecond: $0, timeout: stallTimeout) }
    }
}
