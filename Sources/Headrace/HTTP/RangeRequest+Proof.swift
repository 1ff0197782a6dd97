extension RangeRequest {
    /// Why the bytes of an answer may be put beside those that are held.
    enum Proof: Sendable, Hashable {
        /// No bytes are held, so there is nothing to mix.
        case nothingHeld
        case entityTag
        case lastModified
        /// Not proven yet: a mismatch at the end may come from two versions mixed.
        case later(DeferredVerification)
    }

    /// Proves that a part belongs to the version of the held bytes (RFC 9110, section 15.3.7.3).
    func prove(_ part: RepresentationMetadata) throws(RestartReason) -> Proof {
        guard let known else {
            guard heldBytes == 0 else { throw .noValidator }
            return .nothingHeld
        }
        try compareShape(of: part, with: known)
        do {
            return try compareValidators(of: part, with: known)
        } catch .validatorMissing where isLeftOut(by: part, of: known) {
            return .lastModified
        } catch {
            guard let deferredVerification, isVerifiable(by: deferredVerification, part, known) else { throw error }
            return .later(deferredVerification)
        }
    }

    /// Compares what must be the same even where a checksum is the proof.
    func compareShape(of new: RepresentationMetadata, with known: RepresentationMetadata) throws(RestartReason) {
        guard known.contentCoding == nil, new.contentCoding == nil else { throw .contentCoding }
        if let old = known.totalBytes, let new = new.totalBytes, old != new {
            throw .changedLength(from: old, to: new)
        }
    }

    func compareValidators(
        of new: RepresentationMetadata,
        with known: RepresentationMetadata
    ) throws(RestartReason) -> Proof {
        switch EntityValidator(of: known) {
        case .strong(let tag):
            guard let text = new.entityTag else { throw .validatorMissing }
            guard let other = EntityTag(parsing: text) else { throw .changedEntityTag }
            guard tag.provesSameBytes(as: other) else {
                throw tag.isWeaklyEqual(to: other) ? .validatorBecameWeak : .changedEntityTag
            }
            // A part may leave the date out, but not have another one.
            guard new.lastModified == nil || known.lastModified == nil || new.lastModified == known.lastModified else {
                throw .changedLastModified
            }
            return .entityTag
        case .lastModified(let date):
            // The date counts only where there is no entity tag at all.
            guard new.entityTag == nil else { throw .changedEntityTag }
            guard known.place == new.place else { throw .differentURL }
            guard let other = new.lastModified else { throw .validatorMissing }
            guard other == date else { throw .changedLastModified }
            return .lastModified
        case nil:
            throw known.entityTag == nil ? .noValidator : .weakValidator
        }
    }

    /// True for a part without the date that was sent as `If-Range`, which section 15.3.7 allows, if the size is right.
    private func isLeftOut(by part: RepresentationMetadata, of known: RepresentationMetadata) -> Bool {
        guard case .lastModified(let date) = ifRange, date == known.lastModified, part.lastModified == nil else {
            return false
        }
        return known.totalBytes != nil && part.totalBytes == known.totalBytes
    }

    /// Whether a response shows that the bytes received so far are all of the file, which has `totalBytes` by its word.
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

    /// How many of the held bytes the range begins with.
    var overlap: Int64 { range.map { heldBytes - $0.start } ?? 0 }

    /// A checksum proves anything; equal bytes in the overlap prove nothing against a field that says "changed".
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
