import HeadracePlatform

/// The names under which a complete file with a wrong checksum or size is saved: `NAME.mismatch`, `NAME (1).mismatch`
/// and so on.
struct MismatchNames {
    static let suffix = ".mismatch"

    private var first: String?
    private var others: NumberedNames

    /// Creates the sequence of names for a file.
    /// - Parameters:
    ///   - finalPath: The path that the file would have if it were correct.
    ///   - names: The paths of the download.
    init(_ finalPath: String, _ names: DestinationPaths) {
        let name = SafeFileName.truncated(names.name(of: finalPath), to: SafeFileName.maxBytes, suffix: Self.suffix)
        let path = names.directory + "/" + name
        first = path
        others = NumberedNames(path, names, mayRename: true)
    }

    mutating func next() -> String? { first.take() ?? others.next() }
}

/// A received file whose size or bytes are wrong.
struct WrongFile {
    private static let advice = "Compare the checksum with its publisher's, or download the file from another source."

    let mismatch: Mismatch
    /// The path that the file would have if it were correct.
    let finalPath: String

    /// Saves the file under another name; returns the mismatch's error, extended by what was done.
    ///
    /// Deletes the file instead if the mismatch policy is not `keep`, if the file is empty or not whole, or if an
    /// identical one was saved before. A file that cannot be saved remains the partial file.
    func save(_ partial: inout PartialDownload) async throws -> DownloadError {
        let isKept = partial.record.requested { $0.mismatchPolicy == .keep }
        guard isKept, mismatch.isWhole, partial.heldBytes > 0 else {
            try partial.discard()
            let advice = mismatch.error.code == .checksum ? " \(Self.advice)" : ""
            return mismatch.error.followed(by: "It was deleted.\(advice)")
        }
        let same = try await savedFile(partial)
        do {
            if same != nil { try partial.discard() }
            let saved = if let same { same } else { try await setAside(&partial) }
            var error = mismatch.error.followed(
                by: "It was saved as \(saved). Compare the checksum with its publisher's: if that is the actual one, "
                    + "rename the file; otherwise delete it, and download the file from another source."
            )
            error.savedFile = URL(filePath: saved, directoryHint: .notDirectory)
            return error
        } catch let error as DownloadError {
            let reason = "It could not be saved under another name: \(error.message)"
            return mismatch.error.followed(by: "\(reason) \(Self.advice)")
        }
    }

    /// Returns the path of an identical wrong file that an earlier download saved; `nil` if there is none, or if the
    /// checksum of the present file was not computed.
    ///
    /// Without this check, a command that is run repeatedly would save one more wrong file each time.
    private func savedFile(_ partial: PartialDownload) async throws -> String? {
        guard let checksum = mismatch.found else { return nil }
        var names = MismatchNames(finalPath, partial.names)
        while let name = names.next(), let status = try? partial.environment.files.status(name) {
            guard status.kind == .regular, status.size == partial.heldBytes else { continue }
            do {
                let file = try OpenFile(name, followingLinks: false, calls: partial.environment.files)
                if try await file.checksum(checksum.algorithm) == checksum { return name }
            } catch is DownloadError {
                // A file that cannot be read counts as different.
            }
        }
        return nil
    }

    /// Renames the partial file to a free name that no other download uses, and removes the resume record; returns the
    /// new path.
    ///
    /// With `full` durability, syncs the file before the rename, and the directory before the record is removed.
    ///
    /// A process that is killed meanwhile leaves the partial file or the renamed one. The renamed file stays private to
    /// its owner and gets no validator attribute, so that a later download does not mistake it for the finished file.
    ///
    /// If the file cannot be renamed, throws the error and keeps the partial file. Throws `CancellationError` if the
    /// task is cancelled while the file is copied to the volume of its destination.
    private func setAside(_ partial: inout PartialDownload) async throws -> String {
        let file = try partial.opened().file
        let (environment, names, path) = (partial.environment, partial.names, partial.path)
        let comparison = environment.files.nameComparison(names.directory)
        var candidates = MismatchNames(finalPath, names)
        partial.ledger.end()
        let saved: String
        do throws(SystemError) {
            guard try file.namedStatus()?.size == partial.heldBytes else { throw SystemError(errno: ENOENT) }
            if environment.configuration.durability == .full { try file.sync() }
            // The attribute remains if an earlier run found the file correct but could not rename it.
            if (try? environment.files.attribute(path, SavedValidator.attribute, SavedValidator.maxBytes)) != nil {
                try file.setAttribute(SavedValidator.attribute, [])
            }
            while true {
                guard let candidate = candidates.next(), names.contains(candidate) else {
                    throw SystemError(errno: EEXIST)
                }
                guard environment.claims.claim(candidate, comparedBy: comparison, for: partial.record),
                    try file.move(to: candidate, mode: FileSystem.privateMode)
                else { continue }
                saved = candidate
                break
            }
        } catch  where partial.needsCopy(after: error) {
            try await partial.copyToDestination()
            return try await setAside(&partial)
        } catch {
            throw DownloadError.storage("\(path) could not be renamed", error, " The download is kept as \(path).")
        }
        partial.ledger.change { $1.lost() }
        // If the directory cannot be synced, a power cut may restore the old name.
        try? partial.syncFolder(of: saved)
        partial.removeOriginal()
        partial.recordFile.remove()
        partial.detachFile()
        return saved
    }

    /// Whether an earlier process ended after ``save(_:)`` renamed the partial file of this record, and before that
    /// process removed the record.
    static func isSaved(_ record: ControlRecord, of partial: PartialDownload) -> Bool {
        let names = partial.names
        var candidates = MismatchNames(names.knownPath ?? names.directory + "/" + record.fileName, names)
        while let path = candidates.next(), let status = try? partial.environment.files.status(path) {
            if record.matches(status.identity) { return true }
        }
        return false
    }
}
