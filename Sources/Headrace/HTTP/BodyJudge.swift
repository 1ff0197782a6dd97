/// Decides what the body of a 200 or 206 is for: the parts of the verdict that need all three.
struct BodyJudge {
    let head: ResponseHead
    let framing: BodyFraming
    let ask: RangeAsk

    /// 206 (RFC 9110, section 15.3.7).
    func part() -> ResponseVerdict {
        guard let asked = ask.range else { return .retry(.partNotAskedFor, after: nil) }
        do throws(RestartReason) {
            guard !head.isMultipartRanges else { throw .multipart }
            switch head.contentRange {
            case .missing:
                throw .missingContentRange
            case .valid(.part(let range, let total)):
                return try accept(range, of: total, for: asked)
            case .valid(.unsatisfied), .invalid:
                throw .invalidContentRange
            }
        } catch {
            return .restart(error)
        }
    }

    /// Accepts what of a range fits to the one that was asked for: it may be shorter, be longer, and begin before.
    func accept(
        _ range: Range<Int64>,
        of total: Int64?,
        for asked: ByteRange
    ) throws(RestartReason) -> ResponseVerdict {
        let part = Representation(of: head, totalBytes: total)
        let proof = try ask.prove(part)
        let totalBytes = total ?? ask.known?.totalBytes
        if let totalBytes, range.upperBound > totalBytes {
            throw .changedLength(from: totalBytes, to: range.upperBound)
        }
        guard range.contains(asked.start) else {
            throw .rangeMisplaced(asked: asked.start, got: range.lowerBound)
        }
        if let announced = framing.length, announced != range.upperBound - range.lowerBound {
            return .retry(.lengthMismatch(announced: announced, range: range), after: nil)
        }
        var representation = ask.known ?? part
        representation.totalBytes = totalBytes
        let overlap = proof == .later(.overlap) ? ask.overlap : 0
        let offset = asked.start + overlap
        let end = min(range.upperBound, asked.end ?? .max)
        // What is compared is of use only together with what is new, or with the end of the file.
        guard end > offset || end == offset && end == totalBytes else { throw .overlapMissing }
        return .accept(
            AcceptedBody(
                offset: offset,
                skippedBytes: asked.start - range.lowerBound,
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
