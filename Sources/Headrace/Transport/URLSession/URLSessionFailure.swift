import HeadracePlatform

/// How `URLSession` said that a task failed, and its meaning; pure.
struct URLSessionFailure: Sendable {
    /// Of `NSURLErrorDomain`.
    var code: Int
    /// Its own words.
    var detail: String
    var hasHead: Bool

    func error(for request: TransportRequest) -> DownloadError {
        let server = request.url.server
        switch code {
        // Whoever has cancelled the task does not wait for it.
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
                "The server \(server) asks for a client certificate, which URLSession has none of."
            )
        case -1204 ... -1200:
            return DownloadError(.tls, "The secure connection to \(server) failed: \(words).")
                .remedied(by: code == -1203 ? .certificateAuthorities : nil)
        case -1022:
            return DownloadError(
                .invalidRequest,
                "App Transport Security does not allow a connection to \(server): take an https URL, or except the host "
                    + "in the app's Info.plist."
            )
        // The URL's scheme was checked before: what is not supported is what the server speaks.
        case -1002, -1015, -1016, -1017: return violation
        case -1 where isViolation: return violation
        default:
            let when = hasHead ? "before all bytes were there" : "before the answer was complete"
            return DownloadError(.connectionLost, "The connection to \(server) ended \(when): \(words).")
        }
    }

    private var violation: DownloadError {
        DownloadError(.protocolViolation, "The server's answer is not valid HTTP: \(words).")
    }

    /// Without the full stop, which the sentence has.
    private var words: String { detail.withoutFullStop }

    /// On Linux, nearly all failures have one code, and the words of libcurl below.
    private var isViolation: Bool {
        let words = words.lowercased()
        return ["chunked-encoding", "unencoding", "header"].contains(where: words.contains)
            // Its own bound on a header line is a failed allocation.
            || !hasHead && words == "out of memory"
    }
}
