import HeadracePlatform

/// Files that are there already, and are fetched again only where the server has another version.
extension DownloadTransfer {
    /// A file that is there, its size, and the version that it is.
    struct ExistingFile {
        let path: String
        let size: Int64
        let version: SavedValidator
        /// True if an earlier release saved the version, for a request with credentials.
        let lacksRequester: Bool
    }

    /// The file to ask about instead of asking for it; nil where it is to be fetched in any case.
    ///
    /// Of several it is the newest of the same requester. If there is none, a login that the server asks for or a redirect to
    /// another host may still show that the requester is the same, so it is the newest.
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

    /// The file of which an accepted body is a version that is there already, under the name which the answer gives.
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

    /// The requester that a response was sent to, or the one that is known before it.
    func requester(_ head: ResponseHead?, _ attempts: TransferState) -> Requester {
        record.requested { Requester($0, at: attempts.sources.current, head, environment.configuration) }
    }

    /// Whether a version that the server has is that of the file for this requester too.
    private func isCurrent(_ kept: ExistingFile, for requester: Requester) -> Bool {
        if kept.lacksRequester { return true }
        guard let fingerprint = kept.version.requester else { return requester.isAnonymous }
        guard !requester.isAnonymous else { return false }
        // The caller has asked for the server's word on it.
        if !kept.version.condition.isDate, record.requested({ $0.refetchPolicy == .ifChanged }) { return true }
        return fingerprint.matches(requester)
    }

    /// The file that a 304 to this condition is about is the result; nil asks without a condition.
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
        // Without one, somebody has changed or removed it since the request.
        if !kept.isEmpty {
            publish(
                .fellBack("The file that is there was downloaded with another login, and is requested for this one.")
            )
        }
        attempts.resume.stopSendingCondition()
        return nil
    }

    /// The file there is the result; an empty partial that an earlier run left goes.
    func unchanged(_ path: String, _ session: PartialDownload) -> FinishedFile {
        session.remove()
        takesName(path)
        return present(path, DownloadEvent.unchanged)
    }

    /// The file there is the result, and of what was fetched nothing is left.
    func skipped(_ path: String, _ session: PartialDownload) -> FinishedFile {
        session.remove()
        return skipped(path)
    }

    func skipped(_ path: String) -> FinishedFile {
        takesName(path)
        return present(path, DownloadEvent.skipped)
    }

    /// The result is a file that was there before, for the reason that an event tells.
    func present(_ path: String, _ event: (URL) -> DownloadEvent) -> FinishedFile {
        let file = URL(filePath: path, directoryHint: .notDirectory)
        publish(event(file))
        let stamp = (try? environment.files.status(path)).map { FileStamp($0) }
        // Begun again, a download may well find the one that it has fetched.
        return FinishedFile(url: file, stamp: stamp, wasThere: stamp == nil || stamp != record.fetched)
    }

    /// Reserves the name of a file that the download may replace; `false` if another download has reserved it.
    @discardableResult
    func takesName(_ path: String) -> Bool {
        guard record.requested({ $0.replacement == .overwrite && $0.refetchPolicy != .always }) else { return true }
        let comparison = environment.files.nameComparison(record.names.directory)
        return environment.claims.claim(path, comparedBy: comparison, for: record)
    }

    /// Reserves the name of a file that the download may replace; throws if it is another download's.
    func claim(_ path: String, _ session: PartialDownload) throws(DownloadError) {
        guard !takesName(path) else { return }
        let advice = session.held.isEmpty ? "" : " The download is kept as \(session.path)."
        throw DownloadError(
            .fileExists,
            "\(path) is the file of another download of this list, which would be replaced as if this were a new version "
                + "of it. Give each a folder of its own.\(advice)"
        )
    }

    /// The file that was complete when the process of an earlier run ended, where it is what is asked for; nil elsewhere.
    func result(
        _ path: String,
        _ session: PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile? {
        // Until this is known the record stays, by which another run finds the file again.
        let isResult = try await isRequested(path, &attempts)
        if isResult, let status = try? environment.files.status(path) {
            environment.willName(record.id, path, FileStamp(status))
        }
        session.recordFile.remove()
        return isResult ? skipped(path) : nil
    }

    /// Whether a file is what is asked for that was complete when the process of an earlier run ended.
    private func isRequested(_ path: String, _ attempts: inout TransferState) async throws -> Bool {
        guard let status = try? environment.files.status(path), expectedSize ?? status.size == status.size else {
            return false
        }
        if let isVerified = try await isVerified(path, status, &attempts) { return isVerified }
        // What may have changed meanwhile is for the server to tell.
        return request.replacement != .overwrite && existingFiles(named: path, from: request.url).isEmpty
    }

    /// The file there that has the request's checksum or pieces, which prove it without a server; reads all of it, where it may
    /// have that size.
    func provenFile(named name: String, _ attempts: inout TransferState, size: Int64? = nil) async throws -> String? {
        guard record.requested({ $0.isVerifiedByFile }) else { return nil }
        for (path, status) in filesThere(named: name) where status.kind == .regular {
            guard status.size == size ?? status.size else { continue }
            if try await isVerified(path, status, &attempts) == true { return path }
        }
        return nil
    }

    /// Whether a file that is there has the request's checksum, or where it has none, its pieces; nil where it has neither.
    ///
    /// One that cannot be read has not, and is fetched.
    private func isVerified(_ path: String, _ status: FileStatus, _ attempts: inout TransferState) async throws -> Bool?
    {
        let (request, file, stamp) = (request, URL(filePath: path), FileStamp(status))
        let expected = request.checksums.isEmpty ? nil : attempts.verification.expected
        guard expected != nil || request.pieceHashes != nil else { return nil }
        guard !attempts.disproven.contains(stamp) else { return false }
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
            attempts.disproven.insert(stamp)
        } catch is DownloadError {}
        return false
    }

    /// The files there whose versions are known, without those that somebody has changed since, or that came from elsewhere.
    private func existingFiles(named path: String, from source: URL) -> [ExistingFile] {
        // What the request tells of the file asks for more than that the server has nothing else.
        guard record.requested({ $0.refetchPolicy != .always && !$0.isVerifiedAtEnd }) else { return [] }
        let there = filesThere(named: path)
        // Of most downloads nothing is there, and the rest need not be found out.
        guard !there.isEmpty else { return [] }
        let (request, configuration) = (request, environment.configuration)
        return there.compactMap { path, status in
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

    /// What is kept of a file that is there.
    private func savedValidator(of path: String, _ status: FileStatus) -> SavedValidator? {
        do throws(SystemError) {
            return SavedValidator(
                decoding: try environment.files.attribute(path, SavedValidator.attribute, SavedValidator.maxBytes)
            )
        } catch {
            return error.isUnsupported ? environment.versions?.version(of: path, inode: status.inode) : nil
        }
    }

    /// What is there under the name and, where an earlier download may have counted it up, under the next ones, as far as it
    /// may have the size that is expected.
    private func filesThere(named path: String) -> [(path: String, status: FileStatus)] {
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
    /// Whether a file that is there is compared with what the request tells of it before a server is asked; where the pieces that
    /// are right are kept, those are.
    fileprivate var isVerifiedByFile: Bool {
        switch refetchPolicy {
        case .always: false
        case .ifChanged: !checksums.isEmpty
        case .unlessCurrent: isVerifiedAtEnd
        }
    }

    /// What of a request besides its URL and its ``Requester`` may decide which file it gets.
    var variant: String {
        headers.filter { !$0.isBoundToOrigin }.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
            .joined(separator: "\n")
    }

    /// What of a request besides its URL may decide which file it gets; without secrets.
    ///
    /// With `tellingLogins`, logins too are told from each other: by so few bits that nobody learns one from them.
    func variant(_ configuration: DownloadConfiguration, tellingLogins: Bool) -> String {
        guard hasCredentials(configuration) else { return variant }
        let login = "credentials" + (tellingLogins ? " \(loginBits(configuration))" : "")
        return variant.isEmpty ? login : "\(login)\n\(variant)"
    }

    /// What tells who asks for the file from others who may get another one; empty where only the URL is asked for.
    func asker(_ configuration: DownloadConfiguration) -> String {
        let variant = variant(configuration, tellingLogins: true)
        return variant.isEmpty ? "" : Fingerprint(variant).short
    }

    /// Sixteen bits of all that a server may know who asks by.
    private func loginBits(_ configuration: DownloadConfiguration) -> String {
        let fields = headers.filter(\.isBoundToOrigin).map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        var texts = fields + (url.login.map { [$0.user, $0.password] } ?? [])
        if let login = configuration.netrc?.login(for: url.host() ?? "") { texts += [login.user, login.password] }
        if let cookies = configuration.cookies?.given(for: url) { texts.append(cookies) }
        if let certificate = configuration.clientCertificate { texts.append(certificate.file.filePath) }
        // The last digits are those that each byte changes.
        return String(Fingerprint(texts.joined(separator: "\n")).description.suffix(4))
    }

    /// Whether a server may learn who asks, by the request or by what the manager has for those that want to know.
    private func hasCredentials(_ configuration: DownloadConfiguration) -> Bool {
        url.login != nil || configuration.credentials != nil || configuration.netrc != nil
            || configuration.cookies != nil || configuration.clientCertificate != nil
            || headers.contains(where: \.isBoundToOrigin)
    }

    /// What happens to a file of the name: one that is to be kept up to date is replaced.
    var replacement: ConflictPolicy { refetchPolicy == .ifChanged ? .overwrite : conflictPolicy }
}
