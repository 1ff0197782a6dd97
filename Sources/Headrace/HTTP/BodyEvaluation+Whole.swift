extension BodyEvaluation {
    /// 200 (RFC 9110, section 15.3.1).
    func whole() -> ResponseVerdict {
        if let verdict = unlabelledPart() { return verdict }
        let new = RepresentationMetadata(of: head, totalBytes: framing.length)
        if rangeRequest.verifiesEnd(new) { return .complete(totalBytes: rangeRequest.heldBytes) }
        let change = rangeRequest.known.flatMap { rangeRequest.change(from: $0, to: new) }
        if change != nil, rangeRequest.isUnexpected(new) {
            return .fail(.unexpectedContent(mediaType: new.mediaType))
        }
        let body = BodyPlacement(whole: new, length: framing.length, framing: framing)
        guard let requested = rangeRequest.range, requested.start > 0 || rangeRequest.heldBytes > 0 else {
            return .accept(body)
        }
        if new.contentCoding != nil, rangeRequest.known?.contentCoding == nil {
            // Asked for the whole, the server may send it as it was before.
            return .restart(.contentCoding)
        }
        if rangeRequest.verifiesEnd { return .restartFromThisBody(.unverifiedEnd, body) }
        guard !rangeRequest.mayBeCausedByIfRange(new, change, head.acceptsRanges) else { return .retryWithoutIfRange }
        return .restartFromThisBody(change ?? .rangeIgnored, body)
    }

    /// Judges a 200 whose fields say that its body is a part; they mean nothing there, but such servers exist.
    ///
    /// Nil where the body is the whole, as far as can be told.
    private func unlabelledPart() -> ResponseVerdict? {
        if rangeRequest.range != nil, head.isMultipartRanges { return .restart(.multipart) }
        guard head.contentRange != .missing else { return nil }
        guard case .valid(.part(let range, let total)) = head.contentRange else {
            // Whether the body is the whole can be told by its length only, unless the whole was asked for.
            guard rangeRequest.range != nil, framing.length == nil || framing.length != rangeRequest.known?.totalBytes
            else { return nil }
            return .restart(.invalidContentRange)
        }
        if let total, framing.length.map({ $0 == total }) ?? (range == 0..<total) { return nil }
        guard let requested = rangeRequest.range else {
            return total == nil && range.lowerBound == 0 ? nil : .retry(.unrequestedRange, after: nil)
        }
        do throws(RestartReason) {
            // The status is wrong, so the rest has to be exact.
            guard framing.length == range.upperBound - range.lowerBound else { throw .invalidContentRange }
            guard range.lowerBound == requested.start else {
                throw .rangeMisplaced(requested: requested.start, got: range.lowerBound)
            }
            return try accept(range, of: total, for: requested)
        } catch {
            return .restart(error)
        }
    }
}

extension RangeRequest {
    /// Why a whole body is of another version than the held bytes, or might be; nil where it is of the same.
    fileprivate func change(from known: RepresentationMetadata, to new: RepresentationMetadata) -> RestartReason? {
        do throws(RestartReason) {
            try compareShape(of: new, with: known)
            _ = try compareValidators(of: new, with: known)
            return nil
        } catch {
            return error
        }
    }

    /// True for what must not replace the held bytes: another type, and a web page or shorter than they are.
    fileprivate func isUnexpected(_ new: RepresentationMetadata) -> Bool {
        guard let known, heldBytes > 0, new.mediaType != known.mediaType else { return false }
        if let expectedSize, new.totalBytes == expectedSize { return false }
        return new.isPage || new.totalBytes.map { $0 < heldBytes } ?? false
    }

    /// True where `If-Range` may be why the whole came: it was sent, and the version is, or may be, the one that is held.
    fileprivate func mayBeCausedByIfRange(
        _ new: RepresentationMetadata,
        _ change: RestartReason?,
        _ acceptsRanges: Bool?
    ) -> Bool {
        guard let ifRange, acceptsRanges != false else { return false }
        switch (change, ifRange) {
        case (nil, .strong): return true
        // Servers without entity tags often have no ranges either, so that asking again needs a hint.
        case (nil, .lastModified): return acceptsRanges == true
        case (.some, _):
            return deferredVerification == .checksum && new.totalBytes != nil
                && new.totalBytes == known?.totalBytes ?? expectedSize
        }
    }
}
