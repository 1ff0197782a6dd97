extension ResponseVerdict {
    /// Decides what to do with an answer that is no redirect to follow.
    ///
    /// Restarts and repetitions are not counted here: the caller has a budget of each.
    /// - Parameters:
    ///   - head: The answer.
    ///   - ask: What was asked.
    /// - Returns: What the answer means.
    static func evaluate(_ head: ResponseHead, for rangeRequest: RangeRequest) -> ResponseVerdict {
        let verdict = evaluateFields(of: head, for: rangeRequest)
        guard let expected = rangeRequest.expectedSize, let size = verdict.size(unless: expected) else {
            return verdict
        }
        return .fail(.wrongSize(size, expected: expected))
    }

    /// The size of the file that an answer has, or how much of it at the least, where that is another one than expected.
    private func size(unless expected: Int64) -> Int64? {
        switch self {
        case .accept(let body), .restartFromThisBody(_, let body):
            let size = body.leastFileSize
            // Of a part of a file whose size is not told, more may follow.
            let isOther = body.totalBytes == nil ? size > expected : size != expected
            return isOther ? size : nil
        case .complete(let totalBytes): return totalBytes == expected ? nil : totalBytes
        case .restart, .retryWithoutIfRange, .unchanged, .retryWithoutPrecondition, .retry, .fail: return nil
        }
    }

    private static func evaluateFields(of head: ResponseHead, for rangeRequest: RangeRequest) -> ResponseVerdict {
        switch head.status {
        case 203 where rangeRequest.isVerifiedImmediately:
            // What a proxy has made of the file is not worth bytes of it that another answer may go on with.
            return .fail(.status(203))
        case 203 where head.isPartial:
            // A part of that fits to nothing; asked for the whole, a server sends no part of it.
            return rangeRequest.range == nil ? .fail(.status(203)) : .restart(.noValidator)
        case 200, 203, 206:
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
            // 520 to 524 are what a content delivery network says of the server behind it.
            return .retry(.status(head.status), after: RetryAfter(of: head)?.delay)
        case 412 where rangeRequest.range != nil:
            return .restart(.preconditionFailed)
        case 416 where rangeRequest.range != nil:
            return evaluateUnsatisfied(head, rangeRequest)
        default:
            return .fail(.status(head.status))
        }
    }

    /// 416 (section 15.5.17).
    private static func evaluateUnsatisfied(_ head: ResponseHead, _ rangeRequest: RangeRequest) -> ResponseVerdict {
        guard case .valid(.unsatisfied(let total)) = head.contentRange else {
            // Some servers leave the size out, but what is known may do without it.
            if let total = rangeRequest.known?.totalBytes, total > 0, total == rangeRequest.heldBytes {
                return .complete(totalBytes: total)
            }
            return .restart(.unsatisfiable(length: nil))
        }
        if rangeRequest.verifiesEnd(RepresentationMetadata(of: head, totalBytes: total)) {
            return .complete(totalBytes: total)
        }
        guard let known = rangeRequest.known, total > 0, total == rangeRequest.heldBytes else {
            return .restart(rangeRequest.reason(ofUnsatisfied: total))
        }
        if known.totalBytes == total { return .complete(totalBytes: total) }
        // The size is news: it is that of our version only if this answer is about our version.
        do throws(RestartReason) {
            let proof = try rangeRequest.prove(RepresentationMetadata(of: head, totalBytes: total))
            // Without a body there is nothing to compare.
            return proof == .later(.overlap) ? .restart(.unsatisfiable(length: total)) : .complete(totalBytes: total)
        } catch .validatorMissing where rangeRequest.isForOneTag {
            // A range of another version is not looked at (RFC 9110, section 13.2.2), and few servers send more.
            return .complete(totalBytes: total)
        } catch {
            return .restart(.unsatisfiable(length: total))
        }
    }
}

extension RangeRequest {
    /// Whether held bytes are to be gone on with, and an answer could prove that at once.
    fileprivate var isVerifiedImmediately: Bool {
        range != nil && heldBytes > 0 && known.flatMap(EntityValidator.init(of:)) != nil
    }

    /// Why a range was refused by a server that has so many bytes of the file.
    fileprivate func reason(ofUnsatisfied total: Int64) -> RestartReason {
        guard total > range?.start ?? 0, total >= known?.totalBytes ?? 0 else { return .unsatisfiable(length: total) }
        if let old = known?.totalBytes, old != total { return .changedLength(from: old, to: total) }
        return .partRefused(length: total)
    }
}

extension ResponseHead {
    enum ContentRangeField: Equatable {
        case missing
        /// Not one valid value.
        case invalid
        case valid(ContentRange)
    }

    var contentRange: ContentRangeField {
        let values = values("content-range")
        guard let text = values.first else { return .missing }
        guard values.allSatisfy({ $0 == text }), let range = ContentRange(parsing: text) else { return .invalid }
        return .valid(range)
    }

    /// True for content that is not the whole, or says so.
    var isPartial: Bool { status == 206 || contentRange != .missing }

    /// True for several ranges in one body (section 14.6).
    var isMultipartRanges: Bool {
        values("content-type").contains { $0.lowercased().hasPrefix("multipart/byteranges") }
    }
}
