import HeadracePlatform

/// Adopts the partial file of a URL that differs only in its query, such as an earlier signed link.
///
/// The query may select the file, so nothing is adopted before a response proves that the bytes are of its version.
extension PartialDownload {
    /// The minimum size of a file for which the directory is searched, in bytes.
    private static let minAdoptedBytes: Int64 = 1 << 20

    /// Adopts such a partial file, if the version in a response is that of its bytes; returns whether it did.
    ///
    /// A partial file that another process or download is writing is not adopted, and neither is one whose name is not known
    /// from the URL or the request.
    mutating func adoptOtherQuery(
        of new: RepresentationMetadata,
        _ totalBytes: Int64?,
        hasChecksum: Bool
    ) throws(DownloadError) -> Bool {
        guard let totalBytes, totalBytes >= Self.minAdoptedBytes, file == nil, url.query() != nil,
            environment.configuration.resumesPartialDownloads
        else { return false }
        var new = new
        new.totalBytes = totalBytes
        let own = names.name(of: path)
        let stem = own.utf8.dropLast(Fingerprint("").suffix.utf8.count)
        let others = (try? environment.files.names(names.directory)) ?? []
        for name in others where name != own && name.utf8.count == own.utf8.count && name.utf8.starts(with: stem) {
            guard Fingerprint.isAtEnd(of: name[...]), try adopt(names.directory + "/" + name, new, hasChecksum) else {
                continue
            }
            return true
        }
        return false
    }

    private mutating func adopt(
        _ other: String,
        _ new: RepresentationMetadata,
        _ hasChecksum: Bool
    ) throws(DownloadError) -> Bool {
        let otherRecord = RecordFile(of: other, calls: environment.sharedFiles)
        guard case .record(let record)? = try? otherRecord.read(), record.state == .receiving,
            record.url.withoutQuery == url.identity.withoutQuery, isVersion(new, of: record, hasChecksum),
            let lock = try? PartialFile.existing(other, calls: environment.sharedFiles)
        else { return false }
        defer { lock.close() }
        guard record.matches(lock.identity) else { return false }
        do throws(SystemError) {
            let directory = environment.configuration.durability == .full ? names.directory : nil
            // Before the file: a record without a file is harmless.
            try recordFile.write(record.moved(to: url), syncing: directory)
            try environment.files.replace(other, path)
            otherRecord.remove()
        } catch {
            recordFile.remove()
            return false
        }
        return true
    }

    /// Whether a response has the version of the recorded bytes, or nothing contradicts that and a checksum will verify it.
    private func isVersion(_ new: RepresentationMetadata, of record: ControlRecord, _ hasChecksum: Bool) -> Bool {
        var known = record.representation
        known.totalBytes = record.totalBytes
        guard known.isUnverified != true, known.totalBytes == new.totalBytes, !record.written.isEmpty else {
            return false
        }
        let comparison = RangeRequest(known: known, heldBytes: record.written.count)
        do {
            let proof = try comparison.prove(new)
            return proof == .entityTag || known.requesterFingerprint ?? requesterFingerprint == requesterFingerprint
        } catch {
            return hasChecksum && error == .noValidator && new.entityTag == nil && new.lastModified == nil
        }
    }
}

extension ControlRecord {
    /// Returns the record under another URL.
    fileprivate func moved(to url: URL) -> ControlRecord {
        var record = ControlRecord(
            url: url,
            fileName: fileName,
            representation: representation,
            totalBytes: totalBytes,
            bootID: bootID,
            file: file
        )
        (record.written, record.durable, record.pieces) = (written, durable, pieces)
        return record
    }
}
