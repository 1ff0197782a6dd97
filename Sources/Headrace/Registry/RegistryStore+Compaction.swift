extension RegistryStore {
    /// Decides when the journal is compacted: rewritten without its dead records, which later ones have replaced.
    struct Compaction: Sendable {
        /// The minimum size in bytes of a journal that is compacted.
        var minBytes: Int64 = 1 << 20
        /// The minimum ratio of records in the journal to downloads in the queue at which the journal is compacted.
        var factor = 2

        /// Returns whether to compact a journal of `size` bytes with `records` records, if the queue has `live`
        /// downloads.
        func isDue(size: Int64, records: Int, live: Int) -> Bool { size >= minBytes && records / factor >= live }
    }

    /// Replaces the journal, atomically, with a new one of these downloads; first copies a damaged journal.
    ///
    /// If it throws, the old journal usually remains in use. If only the sync of the rename failed, the new journal is
    /// in use.
    mutating func replace(with entries: some Sequence<RegistryEntry>) throws(DownloadError) {
        postponedCount = recordCount * 2
        try saveCopyIfNeeded()
        let newPath = path + Self.newSuffix
        let new = try DownloadError.registry("\(newPath) could not be created") { () throws(SystemError) in
            try? calls.remove(newPath)
            return try calls.create(newPath)
        }
        let newSize: Int64
        var lines = RegistryEncoder.journal(of: entries)
        do throws(DownloadError) {
            do throws(WriteFailure) {
                newSize = try writeAll(&lines, to: new, at: 0)
            } catch {
                throw .registry(newPath, error)
            }
            try DownloadError.registry("The queue file \(path) could not be replaced") { () throws(SystemError) in
                try calls.sync(new)
                try calls.replace(newPath, path)
            }
        } catch {
            try? calls.close(new)
            try? calls.remove(newPath)
            throw error
        }
        isUnsynced = false
        close()
        (file, size, hasTornTail) = (new, newSize, false)
        recordCount = lines.recordCount
        // Until the rename is synced, a power cut may bring back the old journal, without changes appended to the new
        // one.
        needsRewrite = true
        try DownloadError.registry("The folder \(directory) could not be written to the disk") {
            () throws(SystemError) in
            try calls.syncNames(in: directory)
        }
        needsRewrite = false
        postponedCount = 0
    }

    /// Returns whether to compact the journal of a queue with `live` downloads.
    func isCompactionDue(live: Int) -> Bool {
        recordCount >= postponedCount && compaction.isDue(size: size, records: recordCount, live: live)
    }

    /// Rewrites the journal if it is missing or damaged, has mostly dead records, or lacks the numbers of downloads.
    ///
    /// Returns the path of a copy of the damaged journal, or `nil` if none was made. If the rewrite fails, the existing
    /// journal remains in use; throws only if the journal is missing or has no complete line.
    mutating func rewriteIfNeeded(_ snapshot: RegistrySnapshot) throws(DownloadError) -> String? {
        let isDamaged = needsCopy
        do throws(DownloadError) {
            let isRewritten = isDamaged || size == 0 || needsRewrite || isCompactionDue(live: snapshot.entries.count)
            if isRewritten { try replace(with: snapshot.ordered) }
        } catch  where size > 0 {
            // The rewrite failed. The existing journal remains in use, since it is readable and can be appended to.
        }
        return isDamaged && !needsCopy ? copyPath : nil
    }
}
