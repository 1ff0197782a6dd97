import HeadracePlatform

/// Finds existing files at the destination, so that a file is downloaded only if the server has another version.
extension DownloadTransfer {
    /// An existing file, its size and its version.
    struct ExistingFile {
        let path: String
        let size: Int64
        let version: SavedValidator
        /// Whether the version was saved by an earlier release, which did not save the requester.
        let lacksRequester: Bool
    }

    /// Returns the existing file whose validator is sent in a conditional request; `nil` if the file must be downloaded
    /// in any case.
    ///
    /// Prefers the newest file that this requester downloaded.
    ///
    /// If no file is known to be this requester's, returns the newest one, but only if the manager has credentials or
    /// cookies: a login challenge or a redirect may then show that the file is this requester's.
    func existingFile(_ attempts: TransferState, named path: String) -> ExistingFile? {
        guard attempts.resume.sendsCondition else { return nil }
        let kept = existingFiles(named: path, from: attempts.sources.current)
        guard let newest = kept.last else { return nil }
        let requester = requester(nil, attempts)
        if let current = kept.last(where: { isCurrent($0, for: requester) }) { return current }
        let configuration = environment.configuration
        let isCertain = configuration.credentials == nil && configuration.netrc == nil && configuration.cookies == nil
        return isCertain ? nil : newest
    }

    /// Returns the existing file of the same version and requester as an accepted body; `nil` if there is none.
    func existingFile(
        of body: BodyPlacement,
        _ head: ResponseHead,
        at path: String,
        _ attempts: TransferState
    ) -> ExistingFile? {
        guard body.offset == 0 else { return nil }
        let requester = requester(head, attempts)
        return existingFiles(named: path, from: attempts.sources.current).last { kept in
            kept.version.condition.isMet(by: body.representation) && kept.size == body.totalBytes ?? kept.size
                && isCurrent(kept, for: requester)
        }
    }

    /// Returns the requester that received a response.
    ///
    /// Without a response, returns the requester as far as it is known before the request.
    func requester(_ head: ResponseHead?, _ attempts: TransferState) -> Requester {
        record.requested { Requester($0, at: attempts.sources.current, head, environment.configuration) }
    }

    /// Whether an existing file with a matching validator is current for this requester too: a server may send another
    /// file to each requester.
    private func isCurrent(_ kept: ExistingFile, for requester: Requester) -> Bool {
        if kept.lacksRequester { return true }
        guard let fingerprint = kept.version.requester else { return requester.isAnonymous }
        guard !requester.isAnonymous else { return false }
        // With `ifChanged`, the caller relies on the server's entity tag.
        if !kept.version.condition.isDate, record.requested({ $0.refetchPolicy == .ifChanged }) { return true }
        return fingerprint.matches(requester)
    }

    /// Finishes the download with the existing file that a 304 response to this condition confirms; if the response
    /// confirms no file, returns `nil` and makes the next request unconditional.
    func unchanged(
        since condition: Precondition?,
        _ head: ResponseHead,
        named path: String,
        _ session: PartialDownload,
        _ attempts: inout TransferState
    ) -> FinishedFile? {
        let requester = requester(head, attempts)
        let kept = existingFiles(named: path, from: attempts.sources.current).filter {
            $0.version.condition == condition
        }
        if let current = kept.last(where: { isCurrent($0, for: requester) }) { return unchanged(current.path, session) }
        // If there is none, another process has changed or removed it since the request.
        if !kept.isEmpty { publish(.notice(.otherLogin)) }
        attempts.resume.stopSendingCondition()
        return nil
    }

    /// Finishes the download with the unchanged existing file, and removes the partial file of an earlier run.
    func unchanged(_ path: String, _ session: PartialDownload) -> FinishedFile {
        session.remove()
        reserveName(path)
        return present(path, DownloadEvent.unchanged)
    }

    /// Finishes the download with the existing file, and removes the partial file.
    func skipped(_ path: String, _ session: PartialDownload) -> FinishedFile {
        session.remove()
        return skipped(path)
    }

    func skipped(_ path: String) -> FinishedFile {
        reserveName(path)
        return present(path, DownloadEvent.skipped)
    }

    /// Returns the result for a download that finishes with an existing file, and publishes an event with the reason.
    func present(_ path: String, _ event: (URL) -> DownloadEvent) -> FinishedFile {
        let file = URL(filePath: path, directoryHint: .notDirectory)
        publish(event(file))
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

    /// Reserves a name if the download may replace an existing file of that name with a newer version, thus not with
    /// `always`; throws `fileExists` if another download has reserved the name.
    func claim(_ path: String, _ session: PartialDownload) throws(DownloadError) {
        guard !reserveName(path) else { return }
        let advice = session.held.isEmpty ? "" : " The download is kept as \(session.path)."
        throw DownloadError(
            .fileExists,
            "\(path) is the file of another download in this queue; this download would replace it as if it were a new "
                + "version. Use a separate folder for each.\(advice)"
        )
    }

    /// Checks a file that was complete when an earlier process ended, and finishes the download with it; returns `nil`
    /// if it is not the requested file.
    ///
    /// Removes the resume record in both cases.
    func result(
        _ path: String,
        _ session: PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile? {
        // Until then the resume record stays, so that another run can find the file.
        let isResult = try await isRequested(path, &attempts)
        if isResult, let status = try? environment.files.status(path) {
            try await environment.willRename(record.id, path, FileStamp(status))
        }
        session.recordFile.remove()
        return isResult ? skipped(path) : nil
    }

    /// Checks whether a file that was complete when an earlier process ended is the requested one.
    private func isRequested(_ path: String, _ attempts: inout TransferState) async throws -> Bool {
        guard let status = try? environment.files.status(path), expectedSize ?? status.size == status.size else {
            return false
        }
        if let isVerified = try await isVerified(path, status, &attempts) { return isVerified }
        // If the file may have changed since, the server decides.
        return request.replacement != .overwrite && existingFiles(named: path, from: request.url).isEmpty
    }

    /// Returns the path of an existing file that matches the request's checksum or piece hashes; `nil` if there is
    /// none.
    ///
    /// Reads each file with this name or a numbered variant completely, unless its size differs from a given `size`.
    func verifiedFile(named name: String, _ attempts: inout TransferState, size: Int64? = nil) async throws -> String? {
        guard record.requested({ $0.comparesExistingFile }) else { return nil }
        for (path, status) in filesOnDisk(named: name) where status.kind == .regular {
            guard status.size == size ?? status.size else { continue }
            if try await isVerified(path, status, &attempts) == true { return path }
        }
        return nil
    }

    /// Returns whether an existing file matches the request's checksum or, without one, its piece hashes; `nil` if the
    /// request has neither.
    ///
    /// Returns `false` for a file that cannot be read, so that it is downloaded.
    private func isVerified(_ path: String, _ status: FileStatus, _ attempts: inout TransferState) async throws -> Bool?
    {
        let (request, file, stamp) = (request, URL(filePath: path), FileStamp(status))
        let expected = request.checksums.isEmpty ? nil : attempts.verification.expected
        guard expected != nil || request.pieceHashes != nil else { return nil }
        guard !attempts.mismatchedFiles.contains(stamp) else { return false }
        publish(.verifying)
        do {
            if let expected {
                let found = try await Checksum.compute(expected.algorithm, ofFileAt: file)
                guard found != expected else {
                    publish(.verified(found))
                    return true
                }
            } else if let pieces = request.pieceHashes, pieces.fit(fileSize: status.size) {
                guard try await !pieces.wrongRanges(ofFileAt: file).isEmpty else {
                    publish(.piecesVerified(count: pieces.count))
                    return true
                }
            }
            attempts.mismatchedFiles.insert(stamp)
        } catch is DownloadError {}
        return false
    }

    /// Returns the existing files with a saved validator that were downloaded from this source and are unchanged since.
    private func existingFiles(named path: String, from source: URL) -> [ExistingFile] {
        // Checksums in the request are stronger than the server's validator.
        guard record.requested({ $0.refetchPolicy != .always && !$0.isVerifiedAtEnd }) else { return [] }
        let existing = filesOnDisk(named: path)
        // Most downloads have no existing file, and skip the rest.
        guard !existing.isEmpty else { return [] }
        let (request, configuration) = (request, environment.configuration)
        return existing.compactMap { path, status in
            guard let version = savedValidator(of: path, status) else { return nil }
            func matches(_ variant: String) -> Bool {
                version.matches(status, from: source, variant: variant, bootID: { try environment.files.bootID() })
            }
            let isKnown = matches(request.variant)
            let lacksRequester =
                !isKnown && version.requester == nil && request.refetchPolicy == .ifChanged
                && matches(request.variant(configuration, tellingLogins: version.condition.isDate))
            guard isKnown || lacksRequester else { return nil }
            return ExistingFile(path: path, size: status.size, version: version, lacksRequester: lacksRequester)
        }
    }

    /// Returns the validator saved with an existing file; `nil` if there is none.
    private func savedValidator(of path: String, _ status: FileStatus) -> SavedValidator? {
        do throws(SystemError) {
            return SavedValidator(
                decoding: try environment.files.attribute(path, SavedValidator.attribute, SavedValidator.maxBytes)
            )
        } catch {
            return error.isUnsupported ? environment.versions?.version(of: path, inode: status.inode) : nil
        }
    }

    /// Returns the existing files with this name and its numbered variants, which earlier downloads may have used.
    ///
    /// If a size is expected, returns only files of that size.
    private func filesOnDisk(named path: String) -> [(path: String, status: FileStatus)] {
        guard let status = try? environment.files.status(path) else { return [] }
        var found = [(path: path, status: status)]
        var others = NumberedNames(path, record.names, mayRename: request.replacement == .rename)
        while let next = others.next(), let status = try? environment.files.status(next) {
            found.append((next, status))
        }
        guard let size = expectedSize else { return found }
        return found.filter { $0.status.size == size }
    }
}

extension DownloadRequest {
    /// Whether an existing file is compared with the request's checksums before a request is sent.
    ///
    /// With `ifChanged`, only checksums are compared: piece hashes serve to copy the correct pieces of the existing
    /// file.
    fileprivate var comparesExistingFile: Bool {
        switch refetchPolicy {
        case .always: false
        case .ifChanged: !checksums.isEmpty
        case .unlessCurrent: isVerifiedAtEnd
        }
    }

    /// The header fields that may affect which file the server sends, except those that identify the requester.
    var variant: String {
        headers.filter { !$0.isBoundToOrigin }.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
            .joined(separator: "\n")
    }

    /// Returns the properties of a request, besides its URL, that may affect which file the server sends; contains no
    /// secrets.
    ///
    /// With `tellingLogins`, the text also differs between logins. It contains a hash of 16 bits, too short to reveal a
    /// login.
    func variant(_ configuration: DownloadConfiguration, tellingLogins: Bool) -> String {
        guard hasCredentials(configuration) else { return variant }
        let login = "credentials" + (tellingLogins ? " \(loginBits(configuration))" : "")
        return variant.isEmpty ? login : "\(login)\n\(variant)"
    }

    /// Returns a fingerprint of the login and the header fields by which a server may select the file; empty if there
    /// are none.
    func requesterFingerprint(_ configuration: DownloadConfiguration) -> String {
        let variant = variant(configuration, tellingLogins: true)
        return variant.isEmpty ? "" : Fingerprint(variant).short
    }

    /// Returns a 16-bit hash of all login data and header fields by which a server may identify the requester.
    private func loginBits(_ configuration: DownloadConfiguration) -> String {
        let fields = headers.filter(\.isBoundToOrigin).map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        var texts = fields + (url.login.map { [$0.user, $0.password] } ?? [])
        if let login = configuration.netrc?.login(for: url.host() ?? "") { texts += [login.user, login.password] }
        if let cookies = configuration.cookies?.given(for: url) { texts.append(cookies) }
        if let certificate = configuration.clientCertificate { texts.append(certificate.file.filePath) }
        // The last digits depend on every byte.
        return String(Fingerprint(texts.joined(separator: "\n")).description.suffix(4))
    }

    /// Whether a server may identify the requester, by the request itself or by the manager's credentials.
    private func hasCredentials(_ configuration: DownloadConfiguration) -> Bool {
        url.login != nil || configuration.credentials != nil || configuration.netrc != nil
            || configuration.cookies != nil || configuration.clientCertificate != nil
            || headers.contains(where: \.isBoundToOrigin)
    }

    /// The policy for an existing file of the same name: overwrite it with `ifChanged`, else the request's policy.
    var replacement: ConflictPolicy { refetchPolicy == .ifChanged ? .overwrite : conflictPolicy }
}
