import HeadracePlatform

extension BodyPlacement {
    /// Decides whether a file that the system has put together is what was asked for.
    ///
    /// The system follows redirects, goes on after cuts and decodes by itself, and calls an answer of any status a success.
    /// - Parameters:
    ///   - head: The last answer.
    ///   - size: The bytes of the file.
    ///   - url: What was asked for.
    ///   - configuration: What is allowed.
    /// - Throws: What the download fails with, or is tried again after.
    init(
        ofFile head: ResponseHead,
        size: Int64,
        askedFor url: URL,
        _ configuration: DownloadConfiguration
    ) throws(DownloadError) {
        guard configuration.allowsInsecureRedirects || !head.url.isDowngrade(from: url) else {
            throw .insecureRedirect(to: head.url)
        }
        try SizeLimit(maxBytes: configuration.maxFileSize).check(size)
        let whole = RepresentationMetadata(of: head, totalBytes: size)
        // After a cut the last answer is that of the rest.
        if head.status == 206, case .valid(.part(let range, let total?)) = head.contentRange, range.lowerBound > 0 {
            guard range.upperBound == total, size == total else { throw .wrongSize(size, announced: total) }
            self.init(whole: whole, length: size, framing: .length(size))
            return
        }
        switch ResponseVerdict.evaluate(head, for: .whole) {
        case .accept(let body):
            let isDecoded = body.representation.contentCoding != nil
            if let length = body.length, length != size, !isDecoded { throw .wrongSize(size, announced: length) }
            self.init(whole: whole, length: size, framing: isDecoded ? .unverified : body.framing)
        case .retry(let refusal, let delay): throw refusal.error(retryAfter: delay, isTransient: true)
        case .fail(let refusal): throw refusal.error()
        case .restartFromThisBody, .restart, .retryWithoutIfRange, .unchanged, .retryWithoutPrecondition, .complete:
            throw ResponseRejection.status(head.status).error()
        }
    }
}

extension DownloadError {
    /// The system calls the file complete, and it is not.
    fileprivate static func wrongSize(_ size: Int64, announced: Int64) -> DownloadError {
        DownloadError(.connectionLost, "The server announced \(announced) bytes, and the system's file has \(size).")
    }
}
