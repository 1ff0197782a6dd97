extension BodyJudge {
    /// 200 (RFC 9110, section 15.3.1).
    func whole() -> ResponseVerdict {
        if let verdict = unlabelledPart() { return verdict }
        let new = Representation(of: head, totalBytes: framing.length)
        if ask.verifiesEnd(new) { return .complete(totalBytes: ask.heldBytes) }
        let change = ask.known.flatMap { ask.change(from: $0, to: new) }
        if change != nil, ask.isUnexpected(new) {
            return .fail(.unexpectedContent(mediaType: new.mediaType))
        }
        let body = AcceptedBody(whole: new, length: framing.length, framing: framing)
        guard let asked = ask.range, asked.start > 0 || ask.heldBytes > 0 else { return .accept(body) }
        if new.contentCoding != nil, ask.known?.contentCoding == nil {
            // Asked for the whole, the server may send it as it was before.
            return .restart(.contentCoding)
        }
        if ask.verifiesEnd { return .restartFromThisBody(.unverifiedEnd, body) }
        guard !ask.isSpoiltByIfRange(new, change, head.acceptsRanges) else { return .askAgainWithoutIfRange }
        return .restartFromThisBody(change ?? .rangeIgnored, body)
    }

    /// Judges a 200 whose fields say that its body is a part; they mean nothing there, but such servers exist.
    ///
    /// Nil where the body is the whole, as far as can be told.
    private func unlabelledPart() -> ResponseVerdict? {
        if ask.range != nil, head.isMultipartRanges { return .restart(.multipart) }
        guard head.contentRange != .missing else { return nil }
        guard case .valid(.part(let range, let total)) = head.contentRange else {
            // Whether the body is the whole can be told by its length only, unless the whole was asked for.
            guard ask.range != nil, framing.length == nil || framing.length != ask.known?.totalBytes else { return nil }
            return .restart(.invalidContentRange)
        }
        if let total, framing.length.map({ $0 == total }) ?? (range == 0..<total) { return nil }
        guard let asked = ask.range else {
            return total == nil && range.lowerBound == 0 ? nil : .retry(.partNotAskedFor, after: nil)
        }
        do throws(RestartReason) {
            // The status is wrong, so the rest has to be exact.
            guard framing.length == range.upperBound - range.lowerBound else { throw .invalidContentRange }
            guard range.lowerBound == asked.start else {
                throw .rangeMisplaced(asked: asked.start, got: range.lowerBound)
            }
            return try accept(range, of: total, for: asked)
        } catch {
            return .restart(error)
        }
    }
}

extension RangeAsk {
    /// Why a whole body is of another version than the held bytes, or might be; nil where it is of the same.
    fileprivate func change(from known: Representation, to new: Representation) -> RestartReason? {
        do throws(RestartReason) {
            try compareShape(of: new, with: known)
            _ = try compareValidators(of: new, with: known)
            return nil
        } catch {
            return error
        }
    }

    /// True for what must not replace the held bytes: another type, and a web page or shorter than they are.
    fileprivate func isUnexpected(_ new: Representation) -> Bool {
        guard let known, heldBytes > 0, new.mediaType != known.mediaType else { return false }
        if let expectedSize, new.totalBytes == expectedSize { return false }
        return new.isPage || new.totalBytes.map { $0 < heldBytes } ?? false
    }

    /// True where `If-Range` may be why the whole came: it was sent, and the version is, or may be, the one that is held.
    fileprivate func isSpoiltByIfRange(
        _ new: Representation,
        _ change: RestartReason?,
        _ acceptsRanges: Bool?
    ) -> Bool {
        guard let ifRange, acceptsRanges != false else { return false }
        switch (change, ifRange) {
        case (nil, .strong): return true
        // Servers without entity tags often have no ranges either, so that asking again needs a hint.
        case (nil, .lastModified): return acceptsRanges == true
        case (.some, _):
            return lateProof == .checksum && new.totalBytes != nil
                && new.totalBytes == known?.totalBytes ?? expectedSize
        }
    }
}
