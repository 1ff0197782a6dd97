extension ResponseVerdict {
    /// Decides how to proceed after a response that is not a redirect to follow.
    ///
    /// Restarts and retries are not counted here: the caller limits both.
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - rangeRequest: The request, with the state that the response must match.
    /// - Returns: How to proceed.
    static func evaluate(_ head: ResponseHead, for rangeRequest: RangeRequest) -> ResponseVerdict {
        let verdict = evaluateFields(of: head, for: rangeRequest)
        guard let expected = rangeRequest.expectedSize, let size = verdict.size(unless: expected) else {
            return verdict
        }
        return .fail(.wrongSize(size, expected: expected))
    }

    /// Returns the file size in the response if it contradicts the expected size; otherwise `nil`.
    ///
    /// If the response does not state the file size, the result is a lower bound for it.
    private func size(unless expected: Int64) -> Int64? {
        switch self {
        case .accept(let body), .restartFromThisBody(_, let body):
            let size = body.minFileSize
            // If the total size is unknown, more bytes may follow.
            let isOther = body.totalBytes == nil ? size > expected : size != expected
            return isOther ? size : nil
        case .complete(let totalBytes): return totalBytes == expected ? nil : totalBytes
        case .restart, .retryWithoutIfRange, .unchanged, .retryWithoutPrecondition, .retry, .fail: return nil
        }
    }

    private static func evaluateFields(of head: ResponseHead, for rangeRequest: RangeRequest) -> ResponseVerdict {
        switch head.status {
        case 203 where rangeRequest.isVerifiedImmediately:
            // A proxy modified this file. The received bytes are kept, because another response may continue them.
            return .fail(.status(203))
        case 203 where head.isPartial:
            // A part of a modified file can neither be combined with other bytes nor replace the whole file.
            return rangeRequest.range == nil ? .fail(.status(203)) : .restart(.noValidator)
        case 200, 203, 206:
            if let decodable = head.decodable,
                let problem = ContentCoding.problem(with: head.contentCodings, decodable: decodable)
            {
                return .fail(.contentCoding(problem))
            }
            do {
                let evaluate = BodyEvaluation(
                    head: head,
                    framing: try BodyFraming(of: head),
                    rangeRequest: rangeRequest
                )
                return head.status == 206 ? evaluate.part() : evaluate.whole()
            } catch {
                return .fail(.violation(error.message))
            }
        case 304:
            guard rangeRequest.range == nil, let condition = rangeRequest.condition else { return .fail(.notModified) }
            return condition.isContradicted(by: RepresentationMetadata(of: head, totalBytes: nil))
                ? .retryWithoutPrecondition : .unchanged
        case 401: return .fail(ResponseRejection(unauthorized: head))
        case 408, 425, 429, 500, 502, 503, 504, 520...524:
            // CDNs send 520 to 524 if the origin server fails.
            return .retry(.status(head.status), after: RetryAfter(of: head)?.delay)
        case 412 where rangeRequest.range != nil:
            return .restart(.preconditionFailed)
        case 416 where rangeRequest.range != nil:
            return evaluateUnsatisfied(head, rangeRequest)
        default:
            return .fail(.status(head.status))
        }
    }

    /// Evaluates a 416 response (RFC 9110, section 15.5.17).
    private static func evaluateUnsatisfied(_ head: ResponseHead, _ rangeRequest: RangeRequest) -> ResponseVerdict {
        guard case .valid(.unsatisfied(let total)) = head.contentRange else {
            // Some servers omit the size; the size from an earlier response may suffice.
            if let total = rangeRequest.known?.totalBytes, total > 0, total == rangeRequest.heldBytes {
                return .complete(totalBytes: total)
            }
            return .restart(.unsatisfiable(length: nil))
        }
        var found = RepresentationMetadata(of: head, totalBytes: total)
        // The coding of the error message is not that of the file.
        (found.contentCoding, found.isDecoded) = (rangeRequest.known?.contentCoding, rangeRequest.known?.isDecoded)
        if rangeRequest.verifiesEnd(found) {
            return .complete(totalBytes: total)
        }
        guard let known = rangeRequest.known, total > 0, total == rangeRequest.heldBytes else {
            return .restart(rangeRequest.reason(ofUnsatisfied: total))
        }
        if known.totalBytes == total { return .complete(totalBytes: total) }
        // The size was unknown before, and applies to the received bytes only if this response is for the same version.
        do throws(RestartReason) {
            let proof = try rangeRequest.prove(found)
            // A 416 has no bytes of the file to compare with the received ones.
            return proof == .overlap ? .restart(.unsatisfiable(length: total)) : .complete(totalBytes: total)
        } catch .validatorMissing where rangeRequest.isForOneTag {
            // With `If-Range`, a 416 implies the same version (RFC 9110, section 13.2.2), but few contain a validator.
            return .complete(totalBytes: total)
        } catch {
            return .restart(.unsatisfiable(length: total))
        }
    }
}

extension RangeRequest {
    /// Whether the response can be verified before its body is read: the request is for a range, and the received bytes
    /// have a strong validator to compare with.
    fileprivate var isVerifiedImmediately: Bool {
        range != nil && heldBytes > 0 && known.flatMap(EntityValidator.init(of:)) != nil
    }

    /// Returns the restart reason for a 416 response from a server whose file has `total` bytes.
    fileprivate func reason(ofUnsatisfied total: Int64) -> RestartReason {
        guard total > range?.start ?? 0, total >= known?.totalBytes ?? 0 else { return .unsatisfiable(length: total) }
        if let old = known?.totalBytes, old != total { return .changedLength(from: old, to: total) }
        return .partRefused(length: total)
    }
}

extension ResponseHead {
    enum ContentRangeField: Equatable {
        case missing
        /// The field is malformed, or occurs with different values.
        case invalid
        case valid(ContentRange)
    }

    var contentRange: ContentRangeField {
        let values = values("content-range")
        guard let text = values.first else { return .missing }
        guard values.allSatisfy({ $0 == text }), let range = ContentRange(parsing: text) else { return .invalid }
        return .valid(range)
    }

    /// Whether the content is a part of the file, according to the status or `Content-Range`.
    var isPartial: Bool { status == 206 || contentRange != .missing }

    /// Whether the body contains several ranges (RFC 9110, section 14.6).
    var isMultipartRanges: Bool {
        values("content-type").contains { $0.lowercased().hasPrefix("multipart/byteranges") }
    }
}
