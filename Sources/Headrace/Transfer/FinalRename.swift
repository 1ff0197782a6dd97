import HeadracePlatform

/// Gives a complete partial file its final name.
///
/// With the durability `full`, the order is: sync the data, update the resume record if there is one, set the
/// attributes, rename the file, sync the directory, remove the record.
///
/// With a lower durability, the data is only flushed before the rename, unless a saved validator requires a sync, and
/// the directory is not synced.
struct FinalRename {
    /// The intended final path.
    let finalPath: String
    /// The URL that the file came from.
    let source: URL
    /// Whether the file is known to be complete; `false` if only the end of the connection has marked its end.
    let isComplete: Bool
    /// Called with a taken name and the stamp of the file to rename, before the next numbered name is tried; throws if
    /// the download must finish with the existing file of that name instead.
    var checkTaken: (String, FileStamp) throws(DownloadError) -> Void = { _, _ in }

    /// Whether a file was renamed, or what must be done before it can be renamed.
    private enum Outcome {
        case renamed
        /// The file has no name yet.
        case needsName
        /// The file is on another volume than its destination.
        case needsCopy
    }

    /// Renames the file.
    ///
    /// - Parameter partial: The partial file.
    /// - Returns: The final path and the stamp of the file; `nil` if the file must be copied to another volume first.
    /// - Throws: `fileExists`, `fileSystem`, `permission` or `diskFull`. The partial file and its bytes remain,
    ///   with two exceptions: if the data could not be synced or flushed, bytes that may be lost are discarded; if only
    ///   the directory could not be synced, the file has its final name.
    func perform(
        on partial: inout PartialDownload
    ) async throws(DownloadError) -> (path: String, stamp: FileStamp)? {
        let (names, ledger) = (partial.names, partial.ledger)
        // A last safeguard, wherever the name came from.
        guard names.contains(finalPath) else {
            throw DownloadError(.fileSystem, "\(finalPath) is not the name of a file in \(names.directory).")
        }
        let target = if let target = partial.target { target } else { try partial.opened() }
        // Checked before the record claims that the file gets its final name.
        if target.file.hasLostName { throw changed(target.file) }
        announce(finalPath, partial)
        let attributes = partial.finalAttributes
        attributes.setRemoteTime(of: target.file)
        ledger.end()
        try ledger.stop(.finishing, on: target)
        let stamp = try completeStamp(of: target.file, &partial)
        let version: [UInt8]?
        do throws(SystemError) {
            version = try attributes.setVersion(source, on: target.file, stamp, isComplete: isComplete)
            if !target.syncsData { try target.file.flush() }
        } catch {
            // The original of a copy or of a decoded file is intact, and takes its place again.
            guard partial.original == nil else { throw target.file.syncError }
            // After the failed sync, bytes may be lost. The policy withdraws them, in case the record cannot be
            // removed.
            ledger.change { contents, _ in contents.policy.syncFailed() }
            try partial.discard()
            throw target.file.syncError
        }
        var name = finalPath
        switch try await rename(target, stamp, to: &name, &partial) {
        case .renamed: break
        case .needsName:
            try partial.giveName()
            return try await perform(on: &partial)
        case .needsCopy: return nil
        }
        if let version { partial.environment.versions?.keep(version, of: name, inode: stamp.inode) }
        ledger.change { $1.named(name, isCopy: partial.original != nil) }
        try syncName(name, of: target, &partial)
        return (name, stamp)
    }

    /// Syncs the directory if the configuration requires it, and removes the resume record.
    private func syncName(
        _ name: String,
        of target: FileLedger.Target,
        _ partial: inout PartialDownload
    ) throws(DownloadError) {
        let hasRecord = partial.ledger.read { $0.policy.hasRecord }
        do throws(SystemError) {
            try partial.syncFolder(of: name)
            partial.removeOriginal()
            if hasRecord { partial.recordFile.remove() }
        } catch {
            // With the record, the next run recognizes the file, under this name or, after a power cut, under the old
            // one.
            if !hasRecord { partial.ledger.writeRecord(to: target) }
            // The file belongs to the user now: this download must not write to it again.
            partial.detachFile()
            let what = "\(name) is complete, but its folder could not be synced to the disk"
            throw .storage(what, error, " A power cut may remove the file.")
        }
    }

    /// Returns the stamp of the complete file; throws if another program changed, moved or removed it.
    private func completeStamp(
        of file: PartialFile,
        _ partial: inout PartialDownload
    ) throws(DownloadError) -> FileStamp {
        let status: FileStatus?
        do {
            status = try file.namedStatus()
        } catch {
            throw nameless("\(partial.path) could not be checked", error, &partial)
        }
        guard let status, status.size == partial.heldBytes else { throw changed(file) }
        return FileStamp(status)
    }

    /// The error for a partial file that another program changed, moved or removed.
    private func changed(_ file: PartialFile) -> DownloadError {
        let isMoved = file.hasLostName && (try? file.status().linkCount) ?? 0 > 0
        return DownloadError(
            .fileSystem,
            isMoved
                ? "\(file.path) or its folder was moved during the download. Move it back and start again."
                : "\(file.path) was changed or removed during the download. Start it again."
        )
    }

    /// Renames the file to `name` or, if the conflict policy allows it, to the next free numbered name.
    private func rename(
        _ target: FileLedger.Target,
        _ stamp: FileStamp,
        to name: inout String,
        _ partial: inout PartialDownload
    ) async throws(DownloadError) -> Outcome {
        let policy = partial.record.requested { $0.replacement }
        var others = NumberedNames(name, partial.names, mayRename: policy == .rename)
        while true {
            if let willRename = partial.environment.willRename { try await willRename(partial.record.id, name, stamp) }
            do throws(SystemError) {
                if policy == .overwrite, !target.file.isUnnamed {
                    try target.file.replace(name)
                    return .renamed
                }
                if try target.file.move(to: name) { return .renamed }
                guard policy != .overwrite else { return .needsName }
            } catch  where target.file.isUnnamed && error.errno != EEXIST {
                return .needsName
            } catch  where partial.needsCopy(after: error) {
                return .needsCopy
            } catch {
                throw nameless("\(partial.path) could not be renamed to \(name)", error, taken: name, &partial)
            }
            guard let next = try freeName(after: name, stamp, &others, partial.environment.files) else {
                throw nameless("", SystemError(errno: EEXIST), taken: name, &partial)
            }
            name = next
            announce(name, partial)
            if partial.ledger.read({ $0.policy.hasRecord }) { partial.ledger.writeRecord(to: target) }
        }
    }

    /// Returns the next numbered name that no file has; `nil` if there is none, or if the conflict policy is not
    /// `rename`.
    ///
    /// Checks the status of each name, which is faster than announcing the name and trying to rename the file.
    private func freeName(
        after name: String,
        _ stamp: FileStamp,
        _ others: inout NumberedNames,
        _ files: FileSystem
    ) throws(DownloadError) -> String? {
        var taken = name
        while let next = others.next() {
            try checkTaken(taken, stamp)
            // If the name cannot be checked, the rename reports the error.
            guard (try? files.status(next)) != nil else { return next }
            taken = next
        }
        return nil
    }

    /// Writes the resume record of a complete file that could not be renamed, so that the file need not be downloaded
    /// again; returns the error to throw.
    private func nameless(
        _ what: String,
        _ error: SystemError,
        taken name: String? = nil,
        _ partial: inout PartialDownload
    ) -> DownloadError {
        let isKept = (try? partial.giveName()) != nil
        if isKept, let target = partial.target {
            partial.ledger.writeRecord(to: target)
            // The checkpoints had ended; with a new policy, the bytes are synced when the run ends.
            partial.renewPolicy()
        }
        // An empty partial file is not worth mentioning.
        let advice = isKept && partial.heldBytes > 0 ? " The download is kept as \(partial.path)." : ""
        guard let name, error.errno == EEXIST else { return .storage(what, error, advice) }
        return DownloadError(.fileExists, "\(name) exists already.\(advice)")
    }

    /// Records the name that the file is about to get.
    private func announce(_ path: String, _ partial: PartialDownload) {
        let name = partial.names.name(of: path)
        partial.ledger.change { contents, _ in contents.state = .finalising(name) }
    }
}
