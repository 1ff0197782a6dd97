extension BodyEvaluation {
    /// Evaluates a 200 or 203 response, whose body should be the whole file (RFC 9110, sections 15.3.1 and 15.3.4).
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
        if new.hasUnrequestedCoding, rangeRequest.known?.contentCoding == nil {
            // The server may send the file unencoded, as before, if the whole file is requested.
            return .restart(.contentCoding)
        }
        if rangeRequest.verifiesEnd { return .restartFromThisBody(.unverifiedEnd, body) }
        guard !rangeRequest.mayBeCausedByIfRange(new, change, head.acceptsRanges) else { return .retryWithoutIfRange }
        if let rest = rest(of: new, after: requested) { return .accept(rest) }
        return .restartFromThisBody(change ?? .rangeIgnored, body)
    }

    /// Returns the placement of the rest of the body, after the bytes that were received before.
    ///
    /// Returns `nil` if no validator proves that the body is of their version, or if the server does not announce
    /// ranges: the body then replaces them, because a later request for a range would fail too.
    private func rest(of new: RepresentationMetadata, after requested: ByteRange) -> BodyPlacement? {
        guard var known = rangeRequest.known, head.acceptsRanges == true, let total = framing.length,
            requested.start > 0, requested.start < total,
            let proof = try? rangeRequest.compareValidators(of: new, with: known),
            (try? rangeRequest.compareShape(of: new, with: known)) != nil
        else { return nil }
        known.totalBytes = total
        return BodyPlacement(
            offset: requested.start,
            skippedBytes: requested.start,
            length: total - requested.start,
            totalBytes: total,
            framing: framing,
            representation: known,
            proof: proof
        )
    }

    /// Evaluates a 200 response whose fields describe a part of the file.
    ///
    /// HTTP does not define such a response, but some servers send one.
    ///
    /// Returns `nil` if the body appears to be the whole file.
    private func unlabelledPart() -> ResponseVerdict? {
        if rangeRequest.range != nil, head.isMultipartRanges { return .restart(.multipart) }
        guard head.contentRange != .missing else { return nil }
        guard case .valid(.part(let range, let total)) = head.contentRange else {
            // Unless the whole file was requested, only a matching length shows that the body is the whole file.
            guard rangeRequest.range != nil, framing.length == nil || framing.length != rangeRequest.known?.totalBytes
            else { return nil }
            return .restart(.invalidContentRange)
        }
        if let total, framing.length.map({ $0 == total }) ?? (range == 0..<total) { return nil }
        guard let requested = rangeRequest.range else {
            return total == nil && range.lowerBound == 0 ? nil : .retry(.unrequestedRange, after: nil)
        }
        do throws(RestartReason) {
            // The status is wrong, so everything else must match exactly.
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
    /// Returns the reason why the response may be of another version than the received bytes; `nil` if its size and its
    /// validator match.
    fileprivate func change(from known: RepresentationMetadata, to new: RepresentationMetadata) -> RestartReason? {
        do throws(RestartReason) {
            try compareShape(of: new, with: known)
            _ = try compareValidators(of: new, with: known)
            return nil
        } catch {
            return error
        }
    }

    /// Whether the response is probably not the file, and must not replace the received bytes.
    ///
    /// This is `true` if all of these apply:
    /// - The media type differs from that of the received bytes.
    /// - The size is not the expected one.
    /// - The body is a web page, or shorter than the received bytes.
    fileprivate func isUnexpected(_ new: RepresentationMetadata) -> Bool {
        guard let known, heldBytes > 0, new.mediaType != known.mediaType else { return false }
        if let expectedSize, new.totalBytes == expectedSize { return false }
        return new.isPage || new.totalBytes.map { $0 < heldBytes } ?? false
    }

    /// Whether the server may have sent the whole file only because of `If-Range`, although the version is unchanged.
    fileprivate func mayBeCausedByIfRange(
        _ new: RepresentationMetadata,
        _ change: RestartReason?,
        _ acceptsRanges: Bool?
    ) -> Bool {
        guard let ifRange, acceptsRanges != false else { return false }
        switch (change, ifRange) {
        case (nil, .strong): return true
        // Servers without entity tags often lack range support too, so only `Accept-Ranges` justifies a new request.
        case (nil, .lastModified): return acceptsRanges == true
        case (.some, _):
            return deferredVerification == .checksum && new.totalBytes != nil
                && new.totalBytes == known?.totalBytes ?? expectedSize
        }
    }
}
