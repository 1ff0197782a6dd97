import HeadracePlatform

/// Finds existing files at the destination, so that a file is downloaded only if the server has another version.
struct ExistingFiles {
    /// An existing file, its size and its version.
    struct ExistingFile {
        let path: String
        let size: Int64
        let version: SavedValidator
    }

    private let record: DownloadRecord
    private let environment: TransferEnvironment

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        self.record = record
        self.environment = environment
    }

    private var request: DownloadRequest { record.request }

    /// Returns the existing file whose validator is sent in a conditional request; `nil` if the file must be downloaded
    /// in any case.
    ///
    /// Returns the newest of the files that are known to belong to this requester.
    ///
    /// If none is, but the manager has a credential provider, a netrc file or cookies, returns the newest of all files:
    /// a login challenge or a redirect may still show that it belongs to this requester.
    func conditional(_ path: String, from source: URL) -> ExistingFile? {
        let kept = all(named: path, from: source)
        guard let newest = kept.last else { return nil }
        let requester = requester(nil, at: source)
        if let current = kept.last(where: { isCurrent($0, for: requester) }) { return current }
        let configuration = environment.configuration
        let isCertain = configuration.credentials == nil && configuration.netrc == nil && configuration.cookies == nil
        return isCertain ? nil : newest
    }

    /// Returns the existing file that has this version and belongs to the requester; `nil` if there is none.
    ///
    /// If the size of the version is known, the file must have that size.
    func current(
        _ path: String,
        _ representation: RepresentationMetadata,
        from source: URL,
        for requester: Requester
    ) -> ExistingFile? {
        all(named: path, from: source).last { isCurrent($0, representation, for: requester) }
    }

    /// Whether the existing file at this path has this version and belongs to the requester; the numbered variants of
    /// the name are not considered.
    func isCurrent(
        _ path: String,
        _ representation: RepresentationMetadata,
        from source: URL,
        for requester: Requester
    ) -> Bool {
        all(named: path, from: source, numbered: false).contains { isCurrent($0, representation, for: requester) }
    }

    private func isCurrent(
        _ kept: ExistingFile,
        _ representation: RepresentationMetadata,
        for requester: Requester
    ) -> Bool {
        kept.version.condition.matches(representation)
            && kept.size == representation.totalBytes ?? kept.size && isCurrent(kept, for: requester)
    }

    /// Returns the requester that received a response.
    ///
    /// Without a response, returns the requester as far as it is known before the request.
    func requester(_ head: ResponseHead?, at source: URL) -> Requester {
        record.requested { Requester($0, at: source, head, environment.configuration) }
    }

    /// Whether an existing file with a matching validator is current for this requester too: a server may send a
    /// different file to each requester.
    func isCurrent(_ kept: ExistingFile, for requester: Requester) -> Bool {
        guard let fingerprint = kept.version.requester else { return requester.isAnonymous }
        guard !requester.isAnonymous else { return false }
        // With `ifChanged`, the caller relies on the server's entity tag.
        if !kept.version.condition.isDate, record.requested({ $0.refetchPolicy == .ifChanged }) { return true }
        return fingerprint.matches(requester)
    }

    /// Throws `fileExists` if the request has a checksum or piece hashes, and the file does not match them.
    func requireMatch(_ path: String, _ state: inout TransferState) async throws {
        guard record.requested({ $0.hasChecksums }), let status = try? environment.files.status(path),
            try await isVerified(path, status, &state) == false
        else { return }
        throw DownloadError(
            .fileExists,
            "\(path) exists already, but it does not match the checksum or cannot be read. Choose to replace it."
        )
    }

    /// Publishes that nothing is downloaded because the file at the path exists; returns the result of the download.
    func skip(_ path: String) -> FinishedFile { present(path, as: DownloadEvent.skipped) }

    /// Reserves the name of an existing file with which the download finishes, and publishes `event` as the reason;
    /// returns the result of the download.
    func present(_ path: String, as event: (URL) -> DownloadEvent) -> FinishedFile {
        reserveName(path)
        let file = URL(filePath: path, directoryHint: .notDirectory)
        record.status.publish(event(file))
        let stamp = (try? environment.files.status(path)).map { FileStamp($0) }
        // After a restart, the existing file may be the one that this download fetched.
        return FinishedFile(url: file, stamp: stamp, wasThere: stamp == nil || stamp != record.fetched)
    }

    /// Reserves a name if the download may replace an existing file of that name; returns `false` if another download
    /// has reserved it.
    @discardableResult
    func reserveName(_ path: String) -> Bool {
        guard record.requested({ $0.replacement == .overwrite && $0.refetchPolicy != .always }) else { return true }
        let comparison = environment.files.nameComparison(record.names.directory)
        return environment.claims.claim(path, comparedBy: comparison, for: record)
    }

    /// Returns whether a file that was complete when an earlier process ended is the requested one; `false` also if
    /// only the server can decide that.
    func isRequested(_ path: String, _ state: inout TransferState) async throws -> Bool {
        guard let status = try? environment.files.status(path),
            record.requested({ $0.expectedSize ?? status.size == status.size })
        else {
            return false
        }
        if let isVerified = try await isVerified(path, status, &state) { return isVerified }
        // With the policy `overwrite` or a saved validator, a request decides: the server may have another version.
        return request.replacement != .overwrite && all(named: path, from: request.url).isEmpty
    }

    /// Returns the path of an existing file that matches the request's checksum or piece hashes; `nil` if there is
    /// none, or if ``DownloadRequest/comparesExistingFile`` is `false`.
    ///
    /// Reads the file with this name completely and, with the policy `rename`, its numbered variants too, until one
    /// matches. Files whose size differs from `size`, if given, or from the expected size are not read.
    func verified(named name: String, size: Int64? = nil, _ state: inout TransferState) async throws -> String? {
        guard record.requested({ $0.comparesExistingFile }) else { return nil }
        for (path, status) in filesOnDisk(named: name) where status.kind == .regular {
            guard status.size == size ?? status.size else { continue }
            if try await isVerified(path, status, &state) == true { return path }
        }
        return nil
    }

    /// Copies the correct pieces of an existing file into the partial file, so that only the other pieces are
    /// downloaded; a piece that cannot be read counts as wrong.
    ///
    /// Only for a request that has piece hashes and the refetch policy `ifChanged`, and does not decode the file; for
    /// others, returns `false` at once.
    ///
    /// Returns `true` if the existing file is the result: all pieces match, and the request has no other checksum.
    func copyPieces(
        of path: String,
        into partial: inout PartialDownload,
        _ progress: DownloadProgress
    ) async throws -> Bool {
        guard record.requested({ $0.refetchPolicy == .ifChanged && !$0.decodesContent }),
            let pieces = request.pieceHashes,
            let file = try? OpenFile(path, followingLinks: false, calls: environment.files)
        else { return false }
        let size = min(file.status.size, pieces.maxBytes)
        var verifier = FileVerifier(record, environment.clock, progress)
        // Only the readable start of a piece is hashed, so the checksum of a piece that cannot be read is wrong.
        let found = try await verifier.checksums(of: pieces, fileSize: size) {
            try await file.readWherePossible($0, $1)
        }
        let bad = pieces.badRanges(found: found, fileSize: size)
        if bad.isEmpty, pieces.fit(fileSize: file.status.size), request.expectedSize ?? size == size {
            guard request.checksums.isEmpty else { return false }
            // A file that has changed meanwhile is copied, and the copy is verified.
            if (try? file.checkUnchanged()) != nil {
                record.status.publish(.piecesVerified(count: found.count))
                return true
            }
        }
        var right = ByteRangeSet(pieces.ranges(fileSize: size))
        for range in bad.ranges { right.remove(range) }
        guard !right.isEmpty else { return false }
        let wrong = pieces.wrongPieces(found: found)
        // If the last piece matches, the file ends with it.
        let hasEnd = found.count == pieces.count && wrong.last != pieces.count - 1
        let missing = (hasEnd ? size : pieces.maxBytes) - right.count
        try await partial.takeOver(right, of: file, for: path, isWhole: missing == 0)
        let count = pieces.count - found.count + wrong.count
        let excess = file.status.size - size
        record.status.publish(.repairing(pieces: count, bytesWasted: missing > 0 ? missing : excess))
        return false
    }

    /// Returns whether an existing file matches the request's checksum or, without one, its piece hashes; `nil` if the
    /// request has neither.
    ///
    /// Returns `false` for a file that cannot be read, so that it is downloaded.
    private func isVerified(_ path: String, _ status: FileStatus, _ state: inout TransferState) async throws -> Bool? {
        let (request, stamp) = (request, FileStamp(status))
        let expected = request.checksums.strongest
        guard expected != nil || request.pieceHashes != nil else { return nil }
        guard !state.mismatchedFiles.contains(stamp) else { return false }
        record.status.publish(.verifying)
        do {
            let file = try OpenFile(path, followingLinks: false, calls: environment.files)
            if let expected {
                let found = try await file.checksum(expected.algorithm)
                guard found != expected else {
                    record.status.publish(.verified(found))
                    return true
                }
            } else if let pieces = request.pieceHashes, pieces.fit(fileSize: status.size) {
                let isWrong = try await !pieces.wrongRanges(of: file) { _, _ in }.isEmpty
                try file.checkUnchanged()
                guard isWrong else {
                    record.status.publish(.piecesVerified(count: pieces.count))
                    return true
                }
            }
            state.mismatchedFiles.insert(stamp)
        } catch is DownloadError {}
        return false
    }

    /// Returns the existing files with a saved validator that were downloaded from this source and are unchanged since,
    /// in the order of their numbers; none if the request has checksums or must always download.
    ///
    /// If `numbered` is `false`, the numbered variants of the name are not considered.
    func all(named path: String, from source: URL, numbered: Bool = true) -> [ExistingFile] {
        // Checksums in the request are stronger than the server's validator.
        guard record.requested({ $0.refetchPolicy != .always && !$0.hasChecksums }) else { return [] }
        let existing = filesOnDisk(named: path, numbered: numbered)
        // Most downloads have no existing file, and skip the rest.
        guard !existing.isEmpty else { return [] }
        let (key, variant) = record.requested { ($0.key(of: source), $0.variant) }
        return existing.compactMap { path, status in
            guard let version = savedValidator(of: path, status),
                version.matches(status, from: key, variant: variant, bootID: { try environment.files.bootID() })
            else { return nil }
            return ExistingFile(path: path, size: status.size, version: version)
        }
    }

    /// Returns the validator saved with an existing file or, if the file system has no extended attributes, in the
    /// registry; `nil` if there is none.
    private func savedValidator(of path: String, _ status: FileStatus) -> SavedValidator? {
        do throws(SystemError) {
            return SavedValidator(
                decoding: try environment.files.attribute(path, SavedValidator.attribute, SavedValidator.maxBytes)
            )
        } catch {
            return error.isUnsupported ? environment.versions?.version(of: path, inode: status.inode) : nil
        }
    }

    /// Returns the existing files with this name and, if the conflict policy is `rename`, its numbered variants, which
    /// earlier downloads may have used.
    ///
    /// If a size is expected, returns only files of that size.
    private func filesOnDisk(named path: String, numbered: Bool = true) -> [(path: String, status: FileStatus)] {
        guard let status = try? environment.files.status(path) else { return [] }
        var found = [(path: path, status: status)]
        var others = NumberedNames(path, record.names, mayRename: numbered && request.replacement == .rename)
        while let next = others.next(), let status = try? environment.files.status(next) {
            found.append((next, status))
        }
        guard let size = record.requested({ $0.expectedSize }) else { return found }
        return found.filter { $0.status.size == size }
    }
}
