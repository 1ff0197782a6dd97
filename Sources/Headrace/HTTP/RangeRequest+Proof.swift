extension RangeRequest {
    /// Returns the reason why a part may be combined with the received bytes (RFC 9110, section 15.3.7.3).
    ///
    /// Returns `nil` if no bytes were received and no version is ``known``. Throws if the part may be of another
    /// version than the received bytes.
    func prove(_ part: RepresentationMetadata) throws(RestartReason) -> ResumeProof? {
        guard let known else {
            guard heldBytes == 0 else { throw .noValidator }
            return nil
        }
        try compareShape(of: part, with: known)
        do {
            return try compareValidators(of: part, with: known)
        } catch .validatorMissing where isDateOmitted(by: part, of: known) {
            return .lastModified
        } catch {
            guard let deferredVerification, isVerifiable(by: deferredVerification, part, known) else { throw error }
            return deferredVerification.proof
        }
    }

    /// Throws if the two versions differ in content coding or size, or if either has an unrequested content coding.
    ///
    /// These checks apply even if a checksum will verify the file.
    func compareShape(of new: RepresentationMetadata, with known: RepresentationMetadata) throws(RestartReason) {
        guard !known.hasUnrequestedCoding, !new.hasUnrequestedCoding else { throw .contentCoding }
        guard known.contentCoding == new.contentCoding else { throw .changedContentCoding }
        if let old = known.totalBytes, let new = new.totalBytes, old != new {
            throw .changedLength(from: old, to: new)
        }
    }

    func compareValidators(
        of new: RepresentationMetadata,
        with known: RepresentationMetadata
    ) throws(RestartReason) -> ResumeProof {
        switch EntityValidator(of: known) {
        case .strong(let tag):
            guard let text = new.entityTag else { throw .validatorMissing }
            guard let other = EntityTag(parsing: text) else { throw .changedEntityTag }
            guard tag.provesSameBytes(as: other) else {
                throw tag.isWeaklyEqual(to: other) ? .validatorBecameWeak : .changedEntityTag
            }
            // A part may omit the date, but must not have a different one.
            guard new.lastModified == nil || known.lastModified == nil || new.lastModified == known.lastModified else {
                throw .changedLastModified
            }
            return .entityTag
        case .lastModified(let date):
            // The date counts only if there is no entity tag at all.
            guard new.entityTag == nil else { throw .changedEntityTag }
            guard known.locationFingerprint == new.locationFingerprint else { throw .differentURL }
            guard let other = new.lastModified else { throw .validatorMissing }
            guard other == date else { throw .changedLastModified }
            return .lastModified
        case nil:
            throw known.entityTag == nil ? .noValidator : .weakValidator
        }
    }

    /// Whether a part has the total size of the received version, but omits the date sent as `If-Range`, as section
    /// 15.3.7 allows.
    private func isDateOmitted(by part: RepresentationMetadata, of known: RepresentationMetadata) -> Bool {
        guard case .lastModified(let date) = ifRange, date == known.lastModified, part.lastModified == nil else {
            return false
        }
        return known.totalBytes != nil && part.totalBytes == known.totalBytes
    }

    /// Returns the metadata of a part, with the content coding of the received version if the part names none.
    ///
    /// A part need not repeat the coding (RFC 9110, section 15.3.7). Returns `part` unchanged if its total size or
    /// strong entity tag differs from that of the received version or is unknown.
    func withImpliedCoding(_ part: RepresentationMetadata) -> RepresentationMetadata {
        guard let known, part.contentCoding == nil, known.totalBytes != nil, part.totalBytes == known.totalBytes,
            case .strong(let tag) = EntityValidator(of: known),
            let other = part.entityTag.flatMap(EntityTag.init(parsing:)), tag.provesSameBytes(as: other)
        else { return part }
        var part = part
        (part.contentCoding, part.isDecoded) = (known.contentCoding, known.isDecoded)
        return part
    }

    /// Whether the response to a request with `verifiesEnd` shows that the received bytes are the whole file: their
    /// number is the total size in the response, and no validator differs.
    func verifiesEnd(_ new: RepresentationMetadata) -> Bool {
        guard verifiesEnd, let known, new.totalBytes == heldBytes, new.contentCoding == known.contentCoding else {
            return false
        }
        if let old = known.entityTag, let tag = new.entityTag {
            guard let old = EntityTag(parsing: old), let tag = EntityTag(parsing: tag) else { return old == tag }
            return tag.isWeaklyEqual(to: old)
        }
        return known.lastModified == nil || new.lastModified == nil || known.lastModified == new.lastModified
    }

    /// The number of bytes at the beginning of the requested range that were already received; valid only with
    /// ``DeferredVerification/overlap``.
    var overlap: Int64 { range.map { heldBytes - $0.start } ?? 0 }

    /// Whether `proof` can show later that the bytes are of one version, although no validator matches.
    ///
    /// A checksum always can; an overlap only if there is no strong validator and no validator has changed.
    private func isVerifiable(
        by proof: DeferredVerification,
        _ part: RepresentationMetadata,
        _ known: RepresentationMetadata
    ) -> Bool {
        switch proof {
        case .checksum: true
        case .overlap:
            overlap > 0 && EntityValidator(of: known) == nil && part.entityTag == known.entityTag
                && (part.lastModified == nil || part.lastModified == known.lastModified)
        }
    }
}
