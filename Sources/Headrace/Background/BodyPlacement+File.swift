import HeadracePlatform

extension BodyPlacement {
    /// Creates the placement of a file that the system downloaded, after checking its response and its size.
    ///
    /// The system follows redirects, resumes and decodes on its own, and treats a response of any status as a success.
    /// - Parameters:
    ///   - head: The final response.
    ///   - size: The size of the file in bytes.
    ///   - url: The requested URL.
    ///   - configuration: The settings of the manager.
    /// - Throws: The error with which the download fails or is retried.
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
        // After the system resumed, the final response is the 206 for the rest.
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
    /// Returns the error for a file whose size differs from the advertised one although the system reports success.
    fileprivate static func wrongSize(_ size: Int64, announced: Int64) -> DownloadError {
        DownloadError(.connectionLost, "The server announced \(announced) bytes, but the system's file has \(size).")
    }
}
