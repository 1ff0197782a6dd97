import HeadracePlatform

/// Receives an accepted body: writes it to the partial file over one connection, or begins a ``SegmentedFetch``, and
/// then finishes the download if the file is complete.
struct BodyReceiver {
    typealias Step = DownloadTransfer.Step

    /// The minimum size in bytes of a partial response after which the next request is sent without a delay.
    private static let minPartBytes: Int64 = 4096
    /// The minimum file size in bytes for concurrent checkpoints, for counting the connection at its host, and for a
    /// ``BottleneckMonitor``; smaller files do not justify these.
    private static let minConcurrentBytes: Int64 = 1 << 20

    /// The reason why a connection stopped reading its body.
    private enum BodyEnd: Sendable {
        /// The body ended, or its further bytes are not needed.
        case complete
        /// The file has a reader now, so the rest is fetched in segments, the reader's bytes first.
        case readerDemand
        /// The server sent bytes again, and they differ from those received before.
        case restart(RestartReason)
    }

    private let response: RequestSender.Response
    private let accepted: BodyPlacement
    /// The final path.
    private let path: String

    init(_ response: RequestSender.Response, _ accepted: BodyPlacement, for path: String) {
        self.response = response
        self.accepted = accepted
        self.path = path
    }

    /// Writes the body to the partial file and, if the file is then complete, finishes the download; returns `.again`
    /// if another request must follow.
    func receive(_ body: ResponseBody, in transfer: inout DownloadTransfer) async throws -> Step {
        try begin(in: &transfer)
        let (environment, record, url) = (transfer.environment, transfer.record, response.head.url)
        // Short downloads are not worth counting.
        let isCounted = accepted.totalBytes ?? .max >= Self.minConcurrentBytes
        if isCounted { _ = environment.hosts.share(of: record.id, url, wanting: 1, at: environment.clock.now()) }
        defer { if isCounted { environment.hosts.release(record.id, url, at: environment.clock.now()) } }
        if isCounted, transfer.monitor == nil { transfer.monitor = BottleneckMonitor(record, environment.clock) }
        let floor = environment.configuration.speedFloor
        var pump = BodyPump(body, accepted, floor, for: record, in: environment, isCounted ? transfer.monitor : nil)
        // Checked before the state is copied for the segmented fetch.
        if SegmentedFetch.isPossible(for: transfer, after: response, accepted),
            let segments = SegmentedFetch(of: transfer, response, accepted)
        {
            return try await fetch(segments, pump, in: &transfer)
        }
        if transfer.partial.hasGaps { try abandonParts(in: &transfer) }
        // If a reader arrives later, the missing bytes are fetched in segments, even if only one connection is allowed.
        let mayStop = SegmentedFetch.isPossible(for: transfer, after: response, accepted)
        while true {
            switch try await write(&pump, mayStop: mayStop, in: &transfer) {
            case .complete: return try await received(in: &transfer)
            case .restart(let reason): return try transfer.requestAgain(for: reason)
            case .readerDemand:
                pump.restart(at: transfer.partial.heldBytes)
                if let segments = SegmentedFetch(of: transfer, response, pump.placement) {
                    return try await fetch(segments, pump, in: &transfer)
                }
            }
        }
    }

    // MARK: Preparing

    /// Prepares the partial file and the verification for an accepted body, and publishes the response.
    private func begin(in transfer: inout DownloadTransfer) throws(DownloadError) {
        var accepted = accepted
        // Stored for later runs: their first source must not continue a mirror's bytes only because both have the same
        // date.
        if accepted.proof == nil {
            if !transfer.state.sources.isFirst { accepted.representation.isFromMirror = true }
            accepted.representation.requesterFingerprint = transfer.partial.requesterFingerprint
        }
        let file = URL(filePath: path, directoryHint: .notDirectory)
        transfer.state.reportedFile = (path, file)
        transfer.publish(.responded(status: response.head.status, totalBytes: accepted.totalBytes, file: file))
        if accepted.representation.hasUnrequestedCoding, let coding = accepted.representation.contentCoding,
            !transfer.state.hasReportedCoding
        {
            transfer.state.hasReportedCoding = true
            transfer.publish(.notice(.encoded(coding: String(coding.prefix(100)).printable)))
        }
        if response.head.status == 203 { transfer.publish(.notice(.transformed)) }
        // An overlapping response is not trusted until its bytes have been compared.
        if accepted.overlapBytes == 0 { try transfer.partial.begin(accepted, for: path) }
        transfer.state.meter.totalBytes = accepted.totalBytes ?? transfer.expectedSize
        try transfer.expect(response.head, for: path)
    }

    /// Discards the received bytes after the first gap, so that a single connection can deliver all missing bytes.
    private func abandonParts(in transfer: inout DownloadTransfer) throws(DownloadError) {
        let reason = transfer.partial.hasValidator ? ConnectionEndReason.unusableParts : .unverifiedParts
        let bytes = try transfer.partial.abandonParts()
        transfer.publish(.fellBackToOneConnection(reason: reason, bytesWasted: bytes))
        transfer.correctMeter()
    }

    // MARK: Following the body

    /// Downloads the missing bytes in segments and, if the file is then complete, finishes the download; returns
    /// `.again` if another request must fetch the rest.
    private func fetch(
        _ segments: SegmentedFetch,
        _ pump: BodyPump,
        in transfer: inout DownloadTransfer
    ) async throws -> Step {
        var pump = pump
        // From here on, the minimum speed is that of all connections together.
        pump.floor = nil
        let failure = await segments.run(with: pump, &transfer)
        do {
            try transfer.partial.settle()
        } catch {
            throw failure ?? error
        }
        if transfer.partial.heldBytes == pump.placement.totalBytes {
            return try await transfer.complete(path, pump.placement.framing)
        }
        if let failure { throw failure }
        try Task.checkCancellation()
        transfer.state.parts.lower()
        return .again
    }

    /// Finishes the download if a body that a single connection has read completes the file; otherwise returns
    /// `.again`, or throws if the server sent too few or too many bytes.
    private func received(in transfer: inout DownloadTransfer) async throws -> Step {
        let (held, size) = (transfer.partial.heldBytes, transfer.expectedSize)
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
            // A coded file marks its own end.
            let isVerified = transfer.state.verification.isNeeded || accepted.representation.isDecoded == true
            // A request that must not be repeated cannot be sent again to find the end.
            let isLast = transfer.state.hasSentSingle && accepted.endsWithStream
            guard accepted.endsWithStream, size == nil, !isVerified, !isLast else {
                // The size in `Content-Range` verifies the length of a part that ended with the connection.
                let isSizeKnown = accepted.framing == .unverified && accepted.totalBytes != nil
                let framing = isSizeKnown ? .length(held) : accepted.framing
                return try await transfer.complete(path, isLast ? .unverified : framing)
            }
            transfer.state.resume.mustVerifyEnd(announcesRanges: response.head.acceptsRanges == true)
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
    ///
    /// If `mayStop` is `true`, stops with `readerDemand` once the file has a reader and many bytes are missing.
    private func write(
        _ pump: inout BodyPump,
        mayStop: Bool,
        in transfer: inout DownloadTransfer
    ) async throws -> BodyEnd {
        guard accepted.totalBytes ?? .max >= Self.minConcurrentBytes else {
            return try await copy(&pump, mayStop: mayStop, in: &transfer) { transfer, count, isCheckpointDue in
                if isCheckpointDue { try transfer.partial.settle() }
                let progress = transfer.state.meter.received(count, at: transfer.environment.clock.now())
                if let progress { transfer.record.status.publish(progress) }
            }
        }
        let meter = SharedMeter(transfer.state.meter)
        defer { transfer.state.meter = meter.value }
        let end: BodyEnd
        do {
            end = try await withThrowingDiscardingTaskGroup { group in
                let (record, monitor, clock) = (transfer.record, transfer.monitor, transfer.environment.clock)
                group.addTask {
                    await meter.reportSilence(to: record, monitor, clock)
                }
                defer { group.cancelAll() }
                return try await copy(&pump, mayStop: mayStop, in: &transfer) { transfer, count, isCheckpointDue in
                    if isCheckpointDue, let target = transfer.partial.target {
                        group.addTask { [ledger = transfer.partial.ledger] in ledger.work(on: target) }
                    }
                    let progress = meter.received(count, at: transfer.environment.clock.now())
                    if let progress { transfer.record.status.publish(progress) }
                }
            }
        } catch {
            // Only the first failure is reported.
            try? transfer.partial.settle()
            throw error
        }
        try transfer.partial.settle()
        return end
    }

    /// Writes the body to the disk; after each chunk, calls `wrote` with the number of new bytes and whether a
    /// checkpoint is due.
    private func copy(
        _ pump: inout BodyPump,
        mayStop: Bool,
        in transfer: inout DownloadTransfer,
        _ wrote: (inout DownloadTransfer, Int, Bool) throws -> Void
    ) async throws -> BodyEnd {
        let (record, sizeLimit) = (transfer.record, transfer.sizeLimit)
        var end = BodyEnd.complete
        try await pump.run { bytes, piece, isWriting in
            transfer.state.fetched(bytes.count)
            let offset = transfer.partial.heldBytes
            try sizeLimit.check(offset + Int64(piece.written.count))
            if !piece.compared.isEmpty, try !compare(bytes, piece, in: &transfer) {
                end = .restart(.overlapDiffers)
                return false
            }
            let new = UnsafeRawBufferPointer(rebasing: bytes[piece.written])
            let isCheckpointDue = try transfer.partial.append(new, at: offset, transfer.monitor)
            transfer.state.verification.update(new, at: offset)
            try wrote(&transfer, new.count, isCheckpointDue)
            // A file that is already too long need not be received to its end.
            if let size = record.requested({ $0.receivedSize }), offset + Int64(new.count) > size { return false }
            guard mayStop, isWriting, SegmentedFetch.isServing(transfer.partial.ledger) else { return true }
            end = .readerDemand
            return false
        }
        guard case .complete = end, !pump.hasCompared else { return end }
        throw DownloadError(.connectionLost, "The server sent less than requested.")
    }

    /// Compares bytes that the server sent again with those received before, and accepts the rest of the body once all
    /// repeated bytes match; returns `false` if any differ.
    private func compare(
        _ bytes: UnsafeRawBufferPointer,
        _ piece: BodySlicer.Piece,
        in transfer: inout DownloadTransfer
    ) throws(DownloadError) -> Bool {
        let repeated = UnsafeRawBufferPointer(rebasing: bytes[piece.compared])
        guard try transfer.partial.holds(repeated, at: piece.comparedOffset) else { return false }
        guard piece.comparedOffset + Int64(repeated.count) == accepted.offset else { return true }
        try transfer.partial.begin(accepted, for: path)
        transfer.reportResumed(accepted)
        return true
    }
}

extension SharedMeter {
    /// Publishes the progress and the bottleneck at intervals even if no bytes arrive, so that the shown speed falls;
    /// returns when the task is cancelled.
    fileprivate func reportSilence(to record: DownloadRecord, _ monitor: BottleneckMonitor?, _ clock: AnyClock) async {
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
