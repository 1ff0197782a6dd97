/// Saves or removes the received bytes at the end of an attempt.
extension PartialDownload {
    /// The largest block size, in bytes, that file systems commonly use.
    ///
    /// A file can occupy up to this much more space than its length.
    private static let blockBytes: Int64 = 64 << 10

    /// Updates the resume record, so that the next attempt finds the received bytes.
    ///
    /// With `leaving`, the next attempt finds the received bytes even after a reboot.
    ///
    /// If the update fails, the previous record remains, which lists fewer bytes.
    mutating func keep(leaving: Bool) {
        // A hole among bytes that are recorded as durable would count as zeros.
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

    /// Truncates the file if the disk is full and there is no resume record yet, so that one can be written; without a
    /// record, the next run would lose all bytes.
    private mutating func makeRoomForRecord() {
        guard case .receiving = state, readers.recordWriter.failure?.isDiskFull == true, let partial,
            environment.files.isMissing(recordFile.path),
            let size = (try? controlRecord(of: partial))?.encoded()?.count
        else { return }
        // A failed write may have left bytes that are not counted.
        for room in [0, Int64(size) + Self.blockBytes] where readers.recordWriter.failure != nil && room < held.count {
            var kept = held
            kept.removeLast(room)
            keepOnly(kept)
            guard (try? partial.truncate(to: kept.end)) != nil else { return }
            _ = work(for: .writeRecord)()
        }
    }

    /// Removes the partial file and the resume record.
    func remove() {
        readers.recordWriter.ended()
        guard let partial, (try? partial.namedStatus()) != nil else { return }
        recordFile.remove()
        partial.remove()
    }

    /// Removes the files of an earlier run, unless another process is writing them or a later release wrote them.
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
