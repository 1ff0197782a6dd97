import HeadracePlatform

/// From the first byte of an accepted body to the final name.
extension DownloadTransfer {
    /// The bytes of a part after which the rest is asked for at once.
    private static let leastPart: Int64 = 4096
    /// The size from which a file is synced and recorded beside its bytes; a group of tasks costs more than a smaller one,
    /// of which only a slow one is recorded at all.
    private static let leastBesides: Int64 = 1 << 20

    /// Writes a body behind the held bytes; nil where more is missing and has to be asked for.
    ///
    /// Throws a ``RestartReason`` where bytes that are held came again and are others.
    func fetch(
        _ response: Response,
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String
    ) async throws -> FinishedFile? {
        var accepted = accepted
        // Also a later run has to know it, whose first source may have the same date.
        if accepted.proof == .nothingHeld {
            if !attempts.sources.isFirst { accepted.representation.isFromMirror = true }
            accepted.representation.asker = session.asker
        }
        let file = URL(filePath: path, directoryHint: .notDirectory)
        attempts.reportedFile = (path, file)
        publish(.responded(status: response.head.status, totalBytes: accepted.totalBytes, file: file))
        if let coding = accepted.representation.contentCoding, !attempts.hasReportedCoding {
            attempts.hasReportedCoding = true
            let name = String(coding.prefix(100)).printable
            publish(.fellBack("The server has encoded the file as \(name), and it is saved so."))
        }
        if response.head.status == 203 {
            publish(.fellBack("A proxy has changed the file on its way, and it is saved so."))
        }
        // What an answer says of the held bytes is believed when they were compared, not before.
        if accepted.overlapBytes == 0 { try session.begin(accepted, for: path) }
        attempts.meter.totalBytes = accepted.totalBytes ?? expectedSize
        try expect(response.head, &session, &attempts, path)
        let (hosts, url) = (environment.hosts, response.head.url)
        // Short ones are not worth being counted.
        let isCounted = accepted.totalBytes ?? .max >= Self.leastBesides
        if isCounted { _ = hosts.share(of: record.id, url, wanting: 1, at: environment.clock.now()) }
        defer { if isCounted { hosts.left(record.id, url, at: environment.clock.now()) } }
        // Asked before the attempt is copied for it.
        if SegmentedFetch.isPossible(after: response, accepted, session, attempts),
            let segments = SegmentedFetch(of: self, response, accepted, session, attempts)
        {
            return try await fetch(segments, &body, accepted, &session, &attempts, path)
        }
        if session.hasGaps { try abandonParts(&session, &attempts) }
        // Whoever begins to read later has the rest come in parts, even where one connection is all there may be.
        let mayStop = SegmentedFetch.isPossible(after: response, accepted, session, attempts)
        var stopsEarly = try await write(&body, accepted, &session, &attempts, path, mayStop: mayStop)
        while stopsEarly {
            let rest = accepted.rest(from: session.heldBytes)
            if let segments = SegmentedFetch(of: self, response, rest, session, attempts) {
                return try await fetch(segments, &body, rest, &session, &attempts, path)
            }
            stopsEarly = try await write(&body, rest, &session, &attempts, path, mayStop: mayStop)
        }
        // Somebody has told the size meanwhile, and less than what is held: the next look at that is before the next request.
        if let size = expectedSize, session.heldBytes > size, accepted.length != nil { return nil }
        let received = session.heldBytes - accepted.offset
        if let length = accepted.length, received < length {
            throw DownloadError(.connectionLost, "The server announced \(length) bytes and sent \(received).")
        }
        // Where the end of the connection is that of the file, the size tells it from a cut.
        if accepted.length == nil, accepted.framing != .delimited, let size = expectedSize, session.heldBytes < size {
            let held = session.heldBytes
            throw DownloadError(.connectionLost, "The connection ended after \(held) of the \(size) bytes expected.")
        }
        // Of a part of a file whose size nobody tells, only the next answer shows whether it was the last.
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
        // A server that sends the file in crumbs is asked with pauses, and not for ever.
        guard received >= Self.leastPart else {
            throw DownloadError(.connectionLost, "The server sent only \(received) of the bytes that were asked for.")
        }
        return nil
    }

    /// Fetches what is missing over several connections; nil where the rest has to be asked for in another way.
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

    /// Gives up what only several connections could have brought, for one stream.
    private func abandonParts(_ session: inout PartialDownload, _ attempts: inout TransferState) throws(DownloadError) {
        let bytes = try session.abandonParts()
        let reason = "The parts could not be proven to be of one version."
        publish(.fellBackToOneConnection(reason: reason, bytesWasted: bytes))
        attempts.meter.correct(to: session.held.count)
    }

    /// Moves the bytes to the disk while a side task, one at a time, syncs and records what is there.
    ///
    /// Returns true where it has stopped for somebody who reads, who may want other bytes first.
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
        guard accepted.totalBytes ?? .max >= Self.leastBesides else {
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
            // The first failure is the one to tell; the session knows of the second.
            try? settle(side, &session)
            throw error
        }
        try settle(side, &session)
        return stopsEarly
    }

    /// Tells the progress while no bytes come, too, in which the speed falls.
    private func reportSilence(_ meter: SharedMeter) async {
        let clock = environment.clock
        while (try? await clock.sleep(clock.now() + ProgressMeter.longestSilence)) != nil {
            if let progress = meter.received(0, at: clock.now()) { publish(progress) }
        }
    }

    /// Moves the bytes to the disk, and hands on what is to be done about those that are there.
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
            // What is too long already need not be known to its end.
            if let size = expectedSize, session.heldBytes > size { return false }
            if let progress = meter.received(piece.written.count, at: environment.clock.now()) { publish(progress) }
            if mayStop, slicer.isWriting, SegmentedFetch.isServing(session) { return true }
        }
        guard slicer.hasCompared else {
            throw DownloadError(.connectionLost, "The server sent less than what was asked for.")
        }
        return false
    }

    /// Waits for bytes, unless they came too slowly so far, and until the limits let them through.
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
        // What comes meanwhile waits with the rest, which halts the network.
        let chunk = try await body.next(atMost: try await lane.allowance(of: arrived))
        floor?.received(chunk?.count ?? 0, after: wait)
        return chunk
    }

    /// Compares what came again with what is held; when all of it is the same, new bytes may follow.
    private func compare(
        _ bytes: UnsafeRawBufferPointer,
        _ piece: BodySlicer.Piece,
        _ accepted: BodyPlacement,
        _ session: inout PartialDownload,
        _ path: String
    ) throws {
        let again = UnsafeRawBufferPointer(rebasing: bytes[piece.compared])
        guard try session.holds(again, at: piece.comparedOffset) else { throw RestartReason.overlapDiffers }
        guard piece.comparedOffset + Int64(again.count) == accepted.offset else { return }
        try session.begin(accepted, for: path)
        reportResumed(accepted, session)
    }

    func reportResumed(_ accepted: BodyPlacement, _ session: borrowing PartialDownload) {
        publish(.resumed(from: accepted.offset, bytesKept: session.held.count, proof: accepted.proof.sentence))
    }

    /// Takes note of the sync that ended with the group, and does what the group left undone.
    private func settle(_ side: Checkpointer, _ session: inout PartialDownload) throws(DownloadError) {
        var actions = side.takeActions()
        if let success = side.takeSyncResult() { actions += try session.syncEnded(success: success) }
        try session.complete(actions)
    }

    /// Names the file, which is complete.
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
                environment.willName(record.id, $0, $1)
            }
        } catch  where error.code == .fileExists && request.replacement == .skip {
            // It came while the bytes came: the same as if it had been there before.
            guard try ConflictResolver(record, environment).isSatisfied(by: path) else { throw error }
            return skipped(path, session)
        }
        // By bytes: of two names that are the same text, only one is the file's.
        let told = attempts.reportedFile.flatMap { $0.path.utf8.elementsEqual(final.path.utf8) ? $0.url : nil }
        let file = told ?? URL(filePath: final.path, directoryHint: .notDirectory)
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
