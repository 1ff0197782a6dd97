/// Decides how to use the body of a 200, 203 or 206, given its head, its framing and the request.
struct BodyEvaluation {
    let head: ResponseHead
    let framing: BodyFraming
    let rangeRequest: RangeRequest

    /// Evaluates a 206 response, whose body is a part of the file (RFC 9110, section 15.3.7).
    func part() -> ResponseVerdict {
        guard let requested = rangeRequest.range else { return .retry(.unrequestedRange, after: nil) }
        do throws(RestartReason) {
            guard !head.isMultipartRanges else { throw .multipart }
            switch head.contentRange {
            case .missing:
                throw .missingContentRange
            case .valid(.part(let range, let total)):
                return try accept(range, of: total, for: requested)
            case .valid(.unsatisfied), .invalid:
                throw .invalidContentRange
            }
        } catch {
            return .restart(error)
        }
    }

    /// Evaluates a body that contains `range` of the file.
    ///
    /// `range` may differ from `requested`, but must contain its first byte. `total` is the size of the file according
    /// to the response; `nil` if it is unknown.
    ///
    /// Returns the body's placement in the file, or `.retry` if the body's length contradicts `range`. Throws if the
    /// body cannot be combined with the received bytes.
    func accept(
        _ range: Range<Int64>,
        of total: Int64?,
        for requested: ByteRange
    ) throws(RestartReason) -> ResponseVerdict {
        var part = RepresentationMetadata(of: head, totalBytes: total)
        if head.values("content-encoding").isEmpty { part = rangeRequest.withImpliedCoding(part) }
        let proof = try rangeRequest.prove(part)
        let totalBytes = total ?? rangeRequest.known?.totalBytes
        if let totalBytes, range.upperBound > totalBytes {
            throw .changedLength(from: totalBytes, to: range.upperBound)
        }
        guard range.contains(requested.start) else {
            throw .rangeMisplaced(requested: requested.start, got: range.lowerBound)
        }
        if let announced = framing.length, announced != range.upperBound - range.lowerBound {
            return .retry(.lengthMismatch(announced: announced, range: range), after: nil)
        }
        var representation = rangeRequest.known ?? part
        representation.totalBytes = totalBytes
        let overlap = proof == .overlap ? rangeRequest.overlap : 0
        let offset = requested.start + overlap
        let end = min(range.upperBound, requested.end ?? .max)
        // Compared bytes are useful only together with new ones, or at the end of the file.
        guard end > offset || end == offset && end == totalBytes else { throw .overlapMissing }
        return .accept(
            BodyPlacement(
                offset: offset,
                skippedBytes: requested.start - range.lowerBound,
                overlapBytes: overlap,
                length: end - offset,
                totalBytes: totalBytes,
                framing: framing,
                representation: representation,
                proof: proof
            )
        )
    }
}
