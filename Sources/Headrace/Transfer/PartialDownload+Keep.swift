/// Saves or removes the received bytes at the end of an attempt.
extension PartialDownload {
    /// The largest block size, in bytes, that file systems commonly use.
    ///
    /// A file can occupy up to this much more space than its length.
    private static let blockBytes: Int64 = 64 << 10

    /// The minimum time until the next attempt for which the received bytes are synced.
    private static let longWait = Duration.seconds(5)

    /// Saves the state of the received bytes in the resume record and in the ``DownloadRecord``, so that the next
    /// attempt finds the bytes.
    ///
    /// If the next attempt is not due within seconds, the bytes are also synced, so that they survive a reboot.
    ///
    /// If the resume record cannot be updated, the previous one remains, which lists fewer bytes. A notice is published
    /// then, but not if the next attempt is due within seconds.
    ///
    /// The bytes of a file without a name are lost if it cannot be given one.
    /// - Parameters:
    ///   - reason: The reason why the run was stopped; `nil` if it was not.
    ///   - time: The time of the next attempt; `nil` if unknown.
    mutating func keep(after reason: StopSignal.Reason?, retryAt time: Duration?) {
        do {
            try giveName()
        } catch {
            return resetBytes()
        }
        // Lost bytes must not be recorded as durable: the next attempt would take the hole that they left for received
        // zeros.
        _ = try? releaseLostBytes()
        let isLeaving = isLeaving(after: reason, retryAt: time)
        if let target { try? ledger.stop(isLeaving ? .leaving : .keeping, on: target) }
        renewPolicy()
        makeRoomForRecord()
        // Published now, because the next run finds nothing left to report.
        if held.isEmpty, let file, file.syncFailure != nil {
            record.status.publish(.notice(.notSaved(file.syncError)))
        } else if isLeaving, let failure = ledger.recordFailure {
            let what =
                "\(recordFile.path) could not be written, so bytes that it does not list will be downloaded again"
            record.status.publish(.notice(.notSaved(.storage(what, failure))))
        }
        let contents = ledger.contents
        guard let status = try? file?.status(), contents.representation != nil, !contents.policy.written.isEmpty
        else { return }
        let suspended = SuspendedPartial(path, stamp: FileStamp(status), contents: contents)
        record.keep(suspended)
        ledger.change { $1.kept(suspended.stamp) }
    }

    private func isLeaving(after reason: StopSignal.Reason?, retryAt time: Duration?) -> Bool {
        guard reason == nil || reason == .networkChanged else { return true }
        if environment.gate.blocker(for: record.requested { NetworkRequirement($0) }) != nil { return true }
        guard let time else { return reason == nil }
        return time - environment.clock.now() >= Self.longWait
    }

    /// Truncates the file and writes the resume record again if the disk was too full for the first one.
    ///
    /// Without a record, the next run would lose all bytes.
    private func makeRoomForRecord() {
        guard ledger.recordFailure?.isDiskFull == true, let target, environment.files.isMissing(recordFile.path),
            case .receiving = ledger.contents.state, let bootID = try? environment.files.bootID(),
            let size = ledger.contents.record(of: target, bootID: bootID).encoded()?.count
        else { return }
        // The first round removes no recorded bytes, but bytes after them that a failed write may have left.
        for room in [0, Int64(size) + Self.blockBytes] where ledger.recordFailure != nil && room < held.count {
            var kept = held
            kept.removeLast(room)
            keepOnly(kept)
            guard (try? target.file.truncate(to: kept.end)) != nil else { return }
            ledger.writeRecord(to: target)
        }
    }

    /// Removes the open partial file, its resume record and its decoded file or copy.
    ///
    /// If no partial file is open, or its path now names another file, the file and the record at the path stay.
    mutating func remove() {
        returnToOriginal()
        ledger.end()
        guard let file, !file.isUnnamed, (try? file.namedStatus()) != nil else { return }
        recordFile.remove()
        file.remove()
        removeOutputs()
    }

    /// Removes the partial file and its record, even a record without a partial file.
    mutating func removeAll() {
        removeStaleRecord()
        remove()
    }

    /// Removes the files of an earlier run, unless another process is writing them or a later release wrote them.
    mutating func removeLeftovers() {
        guard (try? recordFile.read()) != nil else { return }
        do {
            file = try PartialFile.existing(path, calls: environment.sharedFiles)
        } catch {
            return
        }
        if file == nil { return recordFile.remove() }
        remove()
        close()
    }

    /// Closes the partial file; does nothing if it is closed already.
    mutating func close() {
        ledger.close()
        file.take()?.close()
    }
}
