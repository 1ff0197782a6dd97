/// The reason why a task of a background session completed without a file.
enum BackgroundFailure: Sendable, Hashable {
    /// The system or the user stopped the task; neither the network nor the server failed.
    case interrupted
    /// The system could not open or write the file of the received bytes.
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
    /// Classifies the `NSError` with which a task of the system completed.
    ///
    /// - Parameters:
    ///   - domain: The domain of the error.
    ///   - code: The code in that domain, as in `NSURLError.h` and `errno.h`.
    ///   - text: The localized description.
    init(domain: String, code: Int, text: String) {
        let what = "The system could not download the file: \(text.printable.withoutFullStop)."
        // Connection errors have CFNetwork codes in one domain and socket `errno` codes in the other.
        let isNetwork =
            domain == "kCFErrorDomainCFNetwork" && code > 0
            || domain == "NSPOSIXErrorDomain" && (50...65).contains(code)
        guard !isNetwork else {
            self = .failed(DownloadError(.connectionLost, what))
            return
        }
        // CFNetwork's other codes are the same as the codes of URLSession.
        guard domain == "NSURLErrorDomain" || domain == "kCFErrorDomainCFNetwork" else {
            let isFull = domain == "NSPOSIXErrorDomain" && code == 28 || domain == "NSCocoaErrorDomain" && code == 640
            self = .file(DownloadError(isFull ? .diskFull : .fileSystem, isFull ? "\(what) Free some space." : what))
            return
        }
        switch code {
        // Cancelled, for example by the user in the app switcher; or disconnected from the system's daemon.
        case -999, -997: self = .interrupted
        case -3007 ... -3000: self = .file(DownloadError(.fileSystem, what))
        case -1003, -1006: self = .failed(DownloadError(.nameResolution, what))
        case -1001: self = .failed(DownloadError(.stalled, what))
        case -1005: self = .failed(DownloadError(.connectionLost, what))
        case -1007, -1010: self = .failed(DownloadError(.redirect, what))
        case -1206 ... -1200: self = .failed(DownloadError(.tls, what))
        case -1022:
            self = .failed(
                DownloadError(.tls, "\(what) Use https, or add an exception for the host to NSAppTransportSecurity.")
            )
        case -1017 ... -1011: self = .failed(DownloadError(.protocolViolation, what))
        case -996:
            self = .failed(
                DownloadError(.busy, "\(what) Give each process, including extensions, its own session identifier.")
            )
        case -995:
            self = .failed(
                DownloadError(.invalidRequest, "\(what) Set the identifier of the app group in the configuration.")
            )
        case -1002, -1000: self = .failed(DownloadError(.invalidRequest, what))
        default: self = .failed(DownloadError(.connection, what))
        }
    }
}
