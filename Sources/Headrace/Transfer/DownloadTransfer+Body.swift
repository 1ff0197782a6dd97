#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// From the first byte of an accepted body to the final name.
extension DownloadTransfer {
    /// Writes a body behind the held bytes; nil where more is missing and has to be asked for.
    func fetch(
        _ head: ResponseHead,
        _ body: inout ResponseBody,
        _ accepted: AcceptedBody,
        _ session: inout PartialSession,
        _ attempts: inout Attempts,
        _ path: String
    ) async throws -> URL? {
        tell(.responded(status: head.status, totalBytes: accepted.totalBytes, file: URL(filePath: path)))
        try session.begin(accepted)
        attempts.meter.totalBytes = accepted.totalBytes
        try await write(&body, accepted, &session, &attempts)
        let received = session.heldBytes - accepted.offset
        if let length = accepted.length, received < length {
            throw DownloadError(.connectionLost, "The server announced \(length) bytes and sent \(received).")
        }
        guard let total = accepted.totalBytes else { return try finish(&session, &attempts, path, accepted.framing) }
        if session.heldBytes == total { return try finish(&session, &attempts, path, accepted.framing) }
        guard received > 0, session.heldBytes < total else {
            throw DownloadError(
                .protocolViolation,
                "The server announced \(total) bytes and sent \(session.heldBytes)."
            )
        }
        return nil
    }

    /// Moves the bytes to the disk while a side task, one at a time, syncs and records what is there.
    private func write(
        _ body: inout ResponseBody,
        _ accepted: AcceptedBody,
        _ session: inout PartialSession,
        _ attempts: inout Attempts
    ) async throws {
        let side = SideWork()
        do {
            try await withThrowingDiscardingTaskGroup { group in
                var skip = accepted.skippedBytes
                var rest = accepted.length ?? .max
                while rest > 0, let chunk = try await body.next() {
                    attempts.fetched(chunk.count)
                    let dropped = min(skip, Int64(chunk.count))
                    skip -= dropped
                    let taken = min(rest, Int64(chunk.count) - dropped)
                    rest -= taken
                    let actions = try chunk.withBytes { bytes in
                        try session.append(
                            UnsafeRawBufferPointer(rebasing: bytes[Int(dropped)..<Int(dropped + taken)])
                        )
                    }
                    body.recycle(chunk)
                    if let progress = attempts.meter.received(Int(taken), at: environment.clock.now()) {
                        tell(progress)
                    }
                    side.add(actions)
                    if let success = side.takeSyncResult() { try take(success, side, &session) }
                    if let work = side.next(in: session) { group.addTask { work() } }
                }
            }
        } catch {
            try? settle(side, &session)
            throw error
        }
        try settle(side, &session)
    }

    /// Does what is left to do beside the transfer, of which nothing runs any more.
    ///
    /// A sync that was announced has to be done: nothing else tells what it would have made durable.
    private func settle(_ side: SideWork, _ session: inout PartialSession) throws(DownloadError) {
        var failure: DownloadError?
        while true {
            do throws(DownloadError) {
                if let success = side.takeSyncResult() { try take(success, side, &session) }
            } catch {
                failure = error
            }
            guard let work = side.next(in: session) else { break }
            work()
        }
        if let failure { throw failure }
    }

    /// Takes note of how a sync ended; throws where bytes were lost, since those that follow them have no place.
    private func take(_ success: Bool, _ side: SideWork, _ session: inout PartialSession) throws(DownloadError) {
        side.add(session.syncEnded(success: success))
        guard success else { throw session.syncFailed }
    }

    /// Names the file, which is complete.
    func finish(
        _ session: inout PartialSession,
        _ attempts: inout Attempts,
        _ path: String,
        _ framing: BodyFraming?
    ) throws(DownloadError) -> URL {
        let size = session.heldBytes
        let final = URL(filePath: try session.finish(as: path, request.conflictPolicy))
        let now = environment.clock.now()
        attempts.meter.totalBytes = size
        tell(attempts.meter.progress(at: now))
        tell(
            .finished(
                DownloadSummary(
                    file: final,
                    fileSize: size,
                    bytesFetched: attempts.fetchedBytes,
                    duration: now - start,
                    isLengthVerified: framing != .connectionClose
                )
            )
        )
        return final
    }
}
