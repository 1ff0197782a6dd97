extension DownloadError {
    /// Whether the same request may succeed if it is sent again a little later.
    var isTransient: Bool { isNetworkFailure || isRetryable }

    /// Whether the server may not exist: the host name was not found, or the host refused the connection.
    var isHostUnreachable: Bool { code == .nameResolution || isConnectionRefused }

    /// Whether the network, rather than the server, may have failed.
    var isNetworkFailure: Bool { [.nameResolution, .connection, .stalled, .connectionLost].contains(code) }
}

extension DownloadError {
    /// Whether the failure may have been caused by the requested version of HTTP, so that another version may succeed.
    var mayDependOnHTTPVersion: Bool {
        code == .tls || code == .protocolViolation || [421, 426, 505].contains(statusCode)
    }

    /// The error to report if this error was the failure of a request to verify the end of the received bytes.
    var atUnverifiedEnd: DownloadError {
        guard !mayDependOnHTTPVersion else { return .unverifiedEnd }
        var error = self
        error.message = "\(RestartReason.unverifiedEnd) The request to verify the end failed: \(message)"
        return error
    }

    static let unverifiedEnd = DownloadError(
        .protocolViolation,
        "\(RestartReason.unverifiedEnd) The server neither sends ranges nor marks the end over HTTP/1.1, so the "
            + "received bytes could not be verified. They are kept. Specify the size or a checksum of the file."
    )
}

extension ResponseRejection {
    func error(retryAfter: Duration? = nil, isTransient: Bool = false) -> DownloadError {
        let code: DownloadError.Code =
            switch self {
            case .status, .loginRefused, .unsupportedLogin, .notModified: .httpStatus
            case .unexpectedContent: .unexpectedContent
            case .wrongSize: .checksum
            case .contentCoding: .contentCoding
            case .unrequestedRange, .lengthMismatch, .violation: .protocolViolation
            }
        var error = DownloadError(code, sentence, statusCode: statusCode)
        error.retryAfter = retryAfter
        if self == .status(401) { error.remedy = .login }
        error.isRetryable = isTransient
        return error
    }
}
