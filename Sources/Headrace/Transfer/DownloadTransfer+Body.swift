import HeadracePlatform

/// Handles an accepted body, from its first byte until the file has its final name.
extension DownloadTransfer {
    /// The minimum size in bytes of a partial response after which the next request is sent without a delay.
    private static let minPartBytes: Int64 = 4096
    /// The minimum file size in bytes for concurrent checkpoints; smaller files do not justify a task group.
    private static let minConcurrentBytes: Int64 = 1 << 20

    /// Writes a response body to the partial file and, if the file is then complete, finishes the download.
    ///
    /// Returns `nil` if bytes are still missing and must be requested.
    ///
    /// Throws a ``RestartReason`` if the server sent bytes again and they differ from those received before.
    func fetch(
        _ response: Response,
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String
    ) async throws -> FinishedFile? {
        var accepted = accepted
        // Stored for later runs too, whose first source may have the same date.
        if accepted.proof == nil {
            if !attempts.sources.isFirst { accepted.representation.isFromMirror = true }
            accepted.representation.requesterFingerprint = session.requesterFingerprint
        }
        let file = URL(filePath: path, directoryHint: .notDirectory)
        attempts.reportedFile = (path, file)
        publish(.responded(status: response.head.status, totalBytes: accepted.totalBytes, file: file))
        if let coding = accepted.representation.contentCoding, !attempts.hasReportedCoding {
            attempts.hasReportedCoding = true
            publish(.notice(.encoded(coding: String(coding.prefix(100)).printable)))
        }
        if response.head.status == 203 { publish(.notice(.transformed)) }
        // An overlapping response is not trusted until its bytes have been compared.
        if accepted.overlapBytes == 0 { try session.begin(accepted, for: path) }
        attempts.meter.totalBytes = accepted.totalBytes ?? expectedSize
        try expect(response.head, &session, &attempts, path)
        let (hosts, url) = (environment.hosts, response.head.url)
        // Short downloads are not worth counting.
        let isCounted = accepted.totalBytes ?? .max >= Self.minConcurrentBytes
        if isCounted { _ = hosts.share(of: record.id, url, wanting: 1, at: environment.clock.now()) }
        defer { if isCounted { hosts.release(record.id, url, at: environment.clock.now()) } }
        // Checked before the state is copied for the segmented fetch.
        if SegmentedFetch.isPossible(after: response, accepted, session, attempts),
            let segments = SegmentedFetch(of: self, response, accepted, session, attempts)
        {
            return try await fetch(segments, &body, accepted, &session, &attempts, path)
        }
        if session.hasGaps { try abandonParts(&session, &attempts) }
        // If a reader arrives later, the missing bytes are fetched in segments, even if only one connection is allowed.
        let mayStop = SegmentedFetch.isPossible(after: response, accepted, session, attempts)
        var stopsEarly = try await write(&body, accepted, &session, &attempts, path, mayStop: mayStop)
        while stopsEarly {
            let rest = accepted.rest(from: session.heldBytes)
            if let segments = SegmentedFetch(of: self, response, rest, session, attempts) {
                return try await fetch(segments, &body, rest, &session, &attempts, path)
            }
            stopsEarly = try await write(&body, rest, &session, &attempts, path, mayStop: mayStop)
        }
        // A smaller expected size may have been set meanwhile; it is checked before the next request.
        if let size = expectedSize, session.heldBytes > size, accepted.length != nil { return nil }
        let received = session.heldBytes - accepted.offset
        if let length = accepted.length, received < length {
            throw DownloadError(.connectionLost, "The server announced \(length) bytes and sent \(received).")
        }
        // If the body ends with the connection, only the expected size reveals a truncation.
        if accepted.length == nil, accepted.framing != .delimited, let size = expectedSize, session.heldBytes < size {
            let held = session.heldBytes
            throw DownloadError(.connectionLost, "The connection ended after \(held) of the \(size) bytes expected.")
        }
        // If the file size is unknown, only the next response reveals whether this part was the last.
        let isWhole = accepted.totalBytes.map { $0 == session.heldBytes } ?? (accepted.length == nil)
        guard !isWhole else {
            guard accepted.endsWithStream, expectedSize == nil,
                !attempts.verification.isNeeded
            else { return try await complete(&session, &attempts, path, accepted.framing) }
            attempts.resume.mustVerifyEnd(announcesRanges: response.head.acceptsRanges == true)
            return nil
        }
        if let total = accepted.totalBytes, session.heldBytes > total {
            throw DownloadError(
                .protocolViolation,
                "The server announced \(total) bytes and sent \(session.heldBytes)."
            )
        }
        // A server that sends tiny parts is retried with delays, and not forever.
        guard received >= Self.minPartBytes else {
            throw DownloadError(.connectionLost, "The server sent only \(received) of the requested bytes.")
        }
        return nil
    }

    /// Downloads the missing bytes over several connections; returns `nil` if bytes are still missing and must be
    /// requested again.
    private func fetch(
        _ segments: SegmentedFetch,
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String
    ) async throws -> FinishedFile? {
        let failure = await segments.run(with: body, &session, &attempts)
        do {
            try settle(segments.side, &session)
        } catch {
            throw failure ?? error
        }
        if session.heldBytes == accepted.totalBytes {
            return try await complete(&session, &attempts, path, accepted.framing)
        }
        if let failure { throw failure }
        try Task.checkCancellation()
        attempts.parts.lower()
        return nil
    }

    /// Discards the received bytes after the first gap, so that a single connection can deliver all missing bytes.
    private func abandonParts(_ session: inout PartialDownload, _ attempts: inout TransferState) throws(DownloadError) {
        let bytes = try session.abandonParts()
        publish(.fellBackToOneConnection(reason: .unverifiedParts, bytesWasted: bytes))
        attempts.meter.correct(to: session.held.count)
    }

    /// Writes the body to the disk, with concurrent syncs; returns `true` if it stopped before the end of the body
    /// to request a reader's bytes first.
    private func write(
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String,
        mayStop: Bool
    ) async throws -> Bool {
        let meter = SharedMeter(attempts.meter)
        defer { attempts.meter = meter.value }
        guard accepted.totalBytes ?? .max >= Self.minConcurrentBytes else {
            return try await write(&body, accepted, &session, &attempts, meter, path, mayStop) { try $1.complete($0) }
        }
        let side = Checkpointer()
        let stopsEarly: Bool
        do {
            stopsEarly = try await withThrowingDiscardingTaskGroup { group in
                group.addTask { [self] in await reportSilence(meter) }
                defer { group.cancelAll() }
                return try await write(&body, accepted, &session, &attempts, meter, path, mayStop) { actions, session in
                    side.add(actions)
                    if let success = side.takeSyncResult() { side.add(try session.syncEnded(success: success)) }
                    if let work = side.next(in: session) { group.addTask { work() } }
                }
            }
        } catch {
            // Only the first failure is reported; `session` records the second.
            try? settle(side, &session)
            throw error
        }
        try settle(side, &session)
        return stopsEarly
    }

    /// Publishes the progress at intervals even if no bytes arrive, so that the shown speed falls.
    private func reportSilence(_ meter: SharedMeter) async {
        let clock = environment.clock
        while (try? await clock.sleep(clock.now() + ProgressMeter.longestSilence)) != nil {
            if let progress = meter.received(0, at: clock.now()) { publish(progress) }
        }
    }

    /// Writes the body to the disk, and passes due actions to `checkpoint`; returns `true` if it stopped before the end
    /// of the body to request a reader's bytes first.
    private func write(
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ meter: SharedMeter,
        _ path: String,
        _ mayStop: Bool,
        _ checkpoint: ([CheckpointPolicy.Action], inout PartialDownload) throws -> Void
    ) async throws -> Bool {
        var slicer = BodySlicer(accepted)
        var floor = environment.configuration.speedFloor
        while !slicer.isDone, let chunk = try await next(of: &body, &floor) {
            attempts.fetched(chunk.count)
            let piece = slicer.slice(chunk.count)
            try sizeLimit.check(session.heldBytes + Int64(piece.written.count))
            let actions = try chunk.withBytes { bytes in
                if !piece.compared.isEmpty { try compare(bytes, piece, accepted, &session, path) }
                let (new, offset) = (UnsafeRawBufferPointer(rebasing: bytes[piece.written]), session.heldBytes)
                let actions = try session.append(new)
                attempts.verification.update(new, at: offset)
                return actions
            }
            body.recycle(chunk)
            try checkpoint(actions, &session)
            // A file that is already too long need not be received to its end.
            if let size = expectedSize, session.heldBytes > size { return false }
            if let progress = meter.received(piece.written.count, at: environment.clock.now()) { publish(progress) }
            if mayStop, slicer.isWriting, SegmentedFetch.isServing(session) { return true }
        }
        guard slicer.hasCompared else {
            throw DownloadError(.connectionLost, "The server sent less than requested.")
        }
        return false
    }

    /// Returns the next chunk of the body, within the rate limits; `nil` at the end.
    ///
    /// Throws `stalled` if the server was below the minimum speed for too long.
    func next(of body: inout ResponseBody, _ floor: inout MinimumSpeedMonitor?) async throws -> Chunk? {
        if body.lane == nil, environment.rates.hasLimit(for: record) {
            body.lane = ThrottleHandle(record, environment.rates, environment.clock)
        }
        try floor?.check()
        let start = floor == nil ? .zero : environment.clock.now()
        guard let lane = body.lane, let buffer = lane.bufferBytes else {
            if body.isHeldBack { _ = try await body.arrived(buffering: nil) }
            let chunk = try await body.next()
            if floor != nil { floor?.received(chunk?.count ?? 0, after: environment.clock.now() - start) }
            return chunk
        }
        let arrived = try await body.arrived(buffering: buffer)
        let wait = floor == nil ? .zero : environment.clock.now() - start
        guard arrived > 0 else { return nil }
        // While this waits, arriving bytes stay buffered, and a full buffer pauses the connection.
        let chunk = try await body.next(atMost: try await lane.allowance(of: arrived))
        floor?.received(chunk?.count ?? 0, after: wait)
        return chunk
    }

    /// Compares bytes that the server sent again with those received before, and accepts the rest of the body once all
    /// repeated bytes match; throws a ``RestartReason`` if any differ.
    private func compare(
        _ bytes: UnsafeRawBufferPointer,
        _ piece: BodySlicer.Piece,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ path: String
    ) throws {
        let repeated = UnsafeRawBufferPointer(rebasing: bytes[piece.compared])
        guard try session.holds(repeated, at: piece.comparedOffset) else { throw RestartReason.overlapDiffers }
        guard piece.comparedOffset + Int64(repeated.count) == accepted.offset else { return }
        try session.begin(accepted, for: path)
        reportResumed(accepted, session)
    }

    func reportResumed(_ accepted: BodyPlacement, _ session: borrowing PartialDownload) {
        guard let proof = accepted.proof else { return }
        publish(.resumed(from: accepted.offset, bytesKept: session.held.count, proof: proof))
    }

    /// Handles the result of the last sync and performs the remaining checkpoint actions.
    private func settle(_ side: Checkpointer, _ session: inout PartialDownload) throws(DownloadError) {
        var actions = side.takeActions()
        if let success = side.takeSyncResult() { actions += try session.syncEnded(success: success) }
        try session.complete(actions)
    }

    /// Gives the complete file its final name and returns the finished file.
    func finish(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String,
        _ framing: BodyFraming?
    ) throws(DownloadError) -> FinishedFile {
        let size = session.heldBytes
        try claim(path, session)
        let final: (path: String, stamp: FileStamp)
        do {
            final = try session.finish(as: path, from: attempts.sources.current) {
                environment.willRename(record.id, $0, $1)
            }
        } catch  where error.code == .fileExists && request.replacement == .skip {
            // The file appeared during the download; it is treated as if it had existed before.
            guard try ConflictResolver(record, environment).isSatisfied(by: path) else { throw error }
            return skipped(path, session)
        }
        // Compared as bytes, since equal strings may name different files.
        let reported = attempts.reportedFile.flatMap { $0.path.utf8.elementsEqual(final.path.utf8) ? $0.url : nil }
        let file = reported ?? URL(filePath: final.path, directoryHint: .notDirectory)
        let now = environment.clock.now()
        attempts.meter.totalBytes = size
        publish(attempts.meter.progress(at: now))
        publish(
            .finished(
                DownloadSummary(
                    file: file,
                    fileSize: size,
                    bytesFetched: attempts.fetchedBytes,
                    duration: now - attempts.start,
                    isLengthVerified: framing != .unverified || expectedSize != nil
                )
            )
        )
        return FinishedFile(url: file, stamp: final.stamp)
    }
}

extension DownloadConfiguration {
    var speedFloor: MinimumSpeedMonitor? {
        minimumSpeed.map { MinimumSpeedMonitor(bytesPerSecond: $0, timeout: stallTimeout) }
    }
}
