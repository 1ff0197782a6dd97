import HeadracePlatform

/// Converts the error of a `URLSession` task; performs no I/O.
struct URLSessionFailure: Sendable {
    /// The code in `NSURLErrorDomain`.
    var code: Int
    /// The localized description.
    var detail: String
    var hasHead: Bool

    func error(for request: TransportRequest) -> DownloadError {
        let server = request.url.server
        switch code {
        // The canceller does not wait for the task.
        case -999: return .shutDown()
        case -1003, -1006:
            return DownloadError(.nameResolution, "The host \(request.url.host() ?? "") could not be found.")
        case -1004, -1009, -1018, -1019, -1020:
            return DownloadError(.connection, "No connection to \(server) could be made: \(words).")
        case -1001 where !hasHead:
            return DownloadError(.connection, "No connection to \(server) was made in time.")
        case -1206, -1205:
            return DownloadError(
                .tls,
                "The server \(server) requires a client certificate, which the URLSession transport does not support."
            )
        case -1204 ... -1200:
            return DownloadError(.tls, "The secure connection to \(server) failed: \(words).")
                .remedied(by: code == -1203 ? .certificateAuthorities : nil)
        case -1022:
            return DownloadError(
                .invalidRequest,
                "App Transport Security does not allow a connection to \(server): use an https URL, or add an exception "
                    + "for the host to the app's Info.plist."
            )
        // The URL's scheme was checked before, so the unsupported protocol is that of the server.
        case -1002, -1015, -1016, -1017: return violation
        case -1 where isViolation: return violation
        default:
            let when = hasHead ? "before all bytes were received" : "before the response header was complete"
            return DownloadError(.connectionLost, "The connection to \(server) ended \(when): \(words).")
        }
    }

    private var violation: DownloadError {
        DownloadError(.protocolViolation, "The response is not valid HTTP: \(words).")
    }

    /// The description without its full stop.
    private var words: String { detail.withoutFullStop }

    /// On Linux, nearly all failures have the same code and a message from libcurl.
    private var isViolation: Bool {
        let words = words.lowercased()
        return ["chunked-encoding", "unencoding", "header"].contains(where: words.contains)
            // libcurl reports a header line over its limit as a failed allocation.
            || !hasHead && words == "out of memory"
    }
}
