/// What becomes of the bytes at the end of an attempt.
extension PartialDownload {
    /// What a file takes on a disk beyond its bytes, with the largest blocks that are usual.
    private static let blockBytes: Int64 = 64 << 10

    /// Brings the record up to date, so that a later attempt finds the bytes, also of another start of the system where they are
    /// left; returns when that is done.
    ///
    /// A failure shortens what the record claims, which is all that is left to do about it.
    mutating func keep(leaving: Bool) {
        // Once they are recorded as durable, a hole among them counts as zeros.
        _ = try? releaseLostBytes()
        try? complete(policy.stopping(leaving ? .leaving : .keeping, at: environment.clock.now()))
        policy = newPolicy()
        makeRoomForRecord()
        guard let status = try? partial?.status(), let representation, !held.isEmpty else { return }
        let held = SuspendedPartial(
            stamp: FileStamp(status),
            written: policy.written,
            durable: policy.durable,
            representation: representation,
            finalPath: finalPath,
            pieces: pieces
        )
        record.keep(held)
        readers.change { $0.kept(held.stamp) }
    }

    /// Gives the last bytes of a full disk to the first record, without which a later run would lose all of them.
    private mutating func makeRoomForRecord() {
        guard case .receiving = state, readers.recordWriter.failure?.isDiskFull == true, let partial,
            environment.files.isMissing(recordFile.path),
            let size = (try? controlRecord(of: partial))?.encoded()?.count
        else { return }
        // A write that failed may have left a part that nobody counts.
        for room in [0, Int64(size) + Self.blockBytes] where readers.recordWriter.failure != nil && room < held.count {
            var kept = held
            kept.removeLast(room)
            keepOnly(kept)
            guard (try? partial.truncate(to: kept.end)) != nil else { return }
            _ = work(for: .writeRecord)()
        }
    }

    /// Removes everything that is this download's.
    func remove() {
        readers.recordWriter.ended()
        guard let partial, (try? partial.namedStatus()) != nil else { return }
        recordFile.remove()
        partial.remove()
    }

    /// Removes what an earlier run left, unless another one is writing it, or a later release has.
    mutating func removeLeftovers() {
        guard (try? recordFile.read()) != nil else { return }
        do {
            partial = try PartialFile.existing(path, calls: environment.sharedFiles)
        } catch {
            return
        }
        if partial == nil { return recordFile.remove() }
        remove()
        close()
    }

    func close() {
        readers.recordWriter.closed()
        readers.change { $0.closed() }
        partial?.close()
    }
}
