/// Why a task of a background session ended without a file.
enum BackgroundFailure: Sendable, Hashable {
    /// The system stopped it, and nothing of the network or the server failed.
    case interrupted
    /// The bytes so far, which the system keeps, could not be opened or written.
    case file(DownloadError)
    /// The network or the server failed.
    case failed(DownloadError)

    var error: DownloadError? {
        switch self {
        case .interrupted: nil
        case .file(let error), .failed(let error): error
        }
    }
}

extension BackgroundFailure {
    /// Reads the error of a task.
    ///
    /// - Parameters:
    ///   - domain: The error's domain.
    ///   - code: The error's number in it, as in `NSURLError.h` and `errno.h`.
    ///   - text: What the system says for a person.
    init(domain: String, code: Int, text: String) {
        let what = "The system could not fetch the file: \(text.printable.withoutFullStop)."
        // The connection, of which the one tells in its own numbers, and the other in those of sockets.
        let isNetwork =
            domain == "kCFErrorDomainCFNetwork" && code > 0
            || domain == "NSPOSIXErrorDomain" && (50...65).contains(code)
        guard !isNetwork else {
            self = .failed(DownloadError(.connectionLost, what))
            return
        }
        // The other numbers of the first are those of URLSession.
        guard domain == "NSURLErrorDomain" || domain == "kCFErrorDomainCFNetwork" else {
            let isFull = domain == "NSPOSIXErrorDomain" && code == 28 || domain == "NSCocoaErrorDomain" && code == 640
            self = .file(DownloadError(isFull ? .diskFull : .fileSystem, isFull ? "\(what) Make room." : what))
            return
        }
        switch code {
        // Cancelled, by the user in the task switcher among others; disconnected from the system's daemon.
        case -999, -997: self = .interrupted
        case -3007 ... -3000: self = .file(DownloadError(.fileSystem, what))
        case -1003, -1006: self = .failed(DownloadError(.nameResolution, what))
        case -1001: self = .failed(DownloadError(.stalled, what))
        case -1005: self = .failed(DownloadError(.connectionLost, what))
        case -1007, -1010: self = .failed(DownloadError(.redirect, what))
        case -1206 ... -1200: self = .failed(DownloadError(.tls, what))
        case -1022:
            self = .failed(DownloadError(.tls, "\(what) Use https, or except the host in NSAppTransportSecurity."))
        case -1017 ... -1011: self = .failed(DownloadError(.protocolViolation, what))
        case -996:
            self = .failed(
                DownloadError(.busy, "\(what) Give each process, an extension too, a session identifier of its own.")
            )
        case -995:
            self = .failed(
                DownloadError(.invalidRequest, "\(what) Give the configuration the identifier of the app group.")
            )
        case -1002, -1000: self = .failed(DownloadError(.invalidRequest, what))
        default: self = .failed(DownloadError(.connection, what))
        }
    }
}
