extension DownloadError {
    /// Whether the same request may have another outcome a little later.
    var isTransient: Bool { isOfNetwork || mayPass }

    /// Whether there may be no such server: its name was not found, or nothing listens at its port.
    var isOfUnreachableHost: Bool { code == .nameResolution || isConnectionRefused }

    /// Whether the way to the server may be what failed.
    var isOfNetwork: Bool {
        [.nameResolution, .connection, .stalled, .connectionLost].contains(code)
    }
}

extension Refusal {
    func error(retryAfter: Duration? = nil, isTransient: Bool = false) -> DownloadError {
        let code: DownloadError.Code =
            switch self {
            case .status, .loginRefused, .unsupportedLogin, .notModified: .httpStatus
            case .unexpectedContent: .unexpectedContent
            case .wrongSize: .checksum
            case .partNotAskedFor, .lengthMismatch, .violation: .protocolViolation
            }
        var error = DownloadError(code, sentence, statusCode: statusCode)
        error.retryAfter = retryAfter
        if self == .status(401) { error.remedy = .login }
        error.mayPass = isTransient
        return error
    }
}

extension RangeAsk.Proof {
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
