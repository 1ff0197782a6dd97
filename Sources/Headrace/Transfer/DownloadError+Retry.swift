extension DownloadError {
    /// Whether the same request may have another outcome a little later.
    var isTransient: Bool { isNetworkFailure || mayPass }

    /// Whether there may be no such server: its name was not found, or nothing listens at its port.
    var isHostUnreachable: Bool { code == .nameResolution || isConnectionRefused }

    /// Whether the way to the server may be what failed.
    var isNetworkFailure: Bool {
        [.nameResolution, .connection, .stalled, .connectionLost].contains(code)
    }
}

extension DownloadError {
    /// Whether the server may not support the version of HTTP that was requested.
    var mayDependOnHTTPVersion: Bool {
        code == .tls || code == .protocolViolation || [421, 426, 505].contains(statusCode)
    }

    /// The error of a request that was to verify the end of the bytes received so far.
    var atUnverifiedEnd: DownloadError {
        guard !mayDependOnHTTPVersion else { return .unverifiedEnd }
        var error = self
        error.message = "\(RestartReason.unverifiedEnd.sentence) The request to verify the end failed: \(message)"
        return error
    }

    static let unverifiedEnd = DownloadError(
        .protocolViolation,
        "\(RestartReason.unverifiedEnd.sentence) The server neither sends parts of the file nor ends it over HTTP/1.1, so that the "
            + "bytes received, which are kept, could not be verified. Give the size or a checksum of the file."
    )
}

extension ResponseRejection {
    func error(retryAfter: Duration? = nil, isTransient: Bool = false) -> DownloadError {
        let code: DownloadError.Code =
            switch self {
            case .status, .loginRefused, .unsupportedLogin, .notModified: .httpStatus
            case .unexpectedContent: .unexpectedContent
            case .wrongSize: .checksum
            case .unrequestedRange, .lengthMismatch, .violation: .protocolViolation
            }
        var error = DownloadError(code, sentence, statusCode: statusCode)
        error.retryAfter = retryAfter
        if self == .status(401) { error.remedy = .login }
        error.mayPass = isTransient
        return error
    }
}

extension RangeRequest.Proof {
    /// The proof in words for a person.
    var sentence: String {
        switch self {
        case .nothingHeld: "Nothing was held."
        case .entityTag: "The entity tag is the same."
        case .lastModified: "The date is the same and old enough."
        case .later(.checksum): "The checksum proves the file at the end."
        case .later(.overlap):
            "The server gave no validator, but the last bytes held were fetched again and are the same."
        }
    }
}

extension DownloadTransfer.Retry {
    /// The transfer waits until another one ends and releases its descriptors, which is no failure of its source.
    init(_ attempts: TransferState, after error: DownloadError, _ transfer: DownloadTransfer) {
        transfer.publish(.fellBack("\(error.message) Another download has to end first."))
        self.init(attempts: attempts, time: transfer.environment.clock.now())
    }
}
