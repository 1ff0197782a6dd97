import HeadracePlatform

/// Sets the attributes of a complete file before its final rename: the modification time that the server sent, and the
/// extended attributes with its origin and version.
///
/// An attribute that cannot be set is left out. Only a failed sync fails the download.
struct FinalAttributes {
    let record: DownloadRecord
    let environment: TransferEnvironment
    /// The version of the file.
    let representation: RepresentationMetadata?
    /// The requester for which the server sent the file; `nil` if only an earlier run received a response.
    let requester: Requester?

    /// Sets the modification time that the server sent, if the configuration requires it; called before the last sync,
    /// so that the time is synced too.
    func setRemoteTime(of partial: PartialFile) {
        guard environment.configuration.setsRemoteTime else { return }
        let now = HTTPDate(seconds: WallTime.seconds())
        guard let date = representation?.plausibleDate(at: now) else { return }
        try? partial.setModified(date.seconds)
    }

    /// Sets the extended attributes that record the origin and the version of the finished file, if the configuration
    /// or the refetch policy requires them.
    ///
    /// Called before the file is renamed to its final name, so that a process that is killed after the rename leaves a
    /// file with attributes.
    ///
    /// Without `isComplete`, no version is recorded: a conditional request would confirm a truncated file.
    /// - Returns: The validator to store in the registry if the file system has no extended attributes; else `nil`.
    /// - Throws: The error of the sync that some validators require; bytes may be lost then.
    func setVersion(
        _ source: URL,
        on partial: PartialFile,
        _ stamp: FileStamp,
        isComplete: Bool
    ) throws(SystemError) -> [UInt8]? {
        let configuration = environment.configuration
        let (isForGood, isWanted) = record.requested { request in
            let isForGood = configuration.storesOrigin || request.refetchPolicy == .ifChanged
            return (isForGood, isForGood || request.refetchPolicy != .always)
        }
        guard isWanted else { return nil }
        if isForGood { try? partial.setAttribute(SavedValidator.originAttribute, Array(source.withoutQuery.utf8)) }
        guard isComplete, let condition = representation.flatMap(Precondition.init(of:)) else { return nil }
        var bootID: String?
        if configuration.durability != .full {
            // A power cut must not leave a validator on a file without its bytes.
            if isForGood {
                do throws(SystemError) { try partial.sync() } catch  where error.isSyncUnsupported { return nil }
            } else {
                bootID = try? environment.files.bootID()
                guard bootID?.isEmpty == false else { return nil }
            }
        }
        // Without a response, it is unknown whether the server would have requested a login.
        guard let requester = requester ?? requesterWithoutResponse(at: source) else { return nil }
        var fingerprint: RequesterFingerprint?
        if !requester.isAnonymous {
            fingerprint = RequesterFingerprint(requester)
            guard fingerprint != nil else { return nil }
        }
        let (variant, key) = record.requested { ($0.variant, $0.key(of: source)) }
        let version = SavedValidator(
            condition,
            of: key,
            variant: variant,
            requester: fingerprint,
            stamp,
            bootID: bootID
        )
        guard let line = version.encoded else { return nil }
        do throws(SystemError) {
            try partial.setAttribute(SavedValidator.attribute, line)
            return nil
        } catch {
            // After any other error, the file has no validator, so the next run downloads it again.
            return error.isUnsupported ? line : nil
        }
    }

    private func requesterWithoutResponse(at source: URL) -> Requester? {
        guard environment.configuration.credentials == nil else { return nil }
        return ExistingFiles(record, environment).requester(nil, at: source)
    }
}

extension RepresentationMetadata {
    /// Returns the modification time that the server sent; `nil` if it sent none, or one that cannot be true.
    ///
    /// A time cannot be true if it is in the future, or at the start of 1970, which servers send if they do not know
    /// the time.
    func plausibleDate(at now: HTTPDate) -> HTTPDate? {
        let date = lastModified.flatMap(HTTPDate.init(parsing:))
        return date.flatMap { $0.seconds > 0 && $0 <= now ? $0 : nil }
    }
}
