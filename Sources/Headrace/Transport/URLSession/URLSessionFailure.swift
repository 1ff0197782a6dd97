import HeadracePlatform

/// Converts the error of a `URLSession` task to a ``DownloadError``; performs no I/O.
struct URLSessionFailure: Sendable {
    /// The error code in `NSURLErrorDomain`, or a proxy failure such as 306 in `kCFErrorDomainCFNetwork`.
    var code: Int
    /// The localized description.
    var detail: String
    var hasHead: Bool
    /// Whether the transport has been shut down.
    var isShutDown = false
    /// Whether the configuration replaces the system's certificate authorities.
    var hasOwnAuthorities = false

    func error(for request: TransportRequest) -> DownloadError {
        let server = request.url.server
        switch code {
        case -999 where isShutDown: return .shutDown()
        // Cancelled by the system, for example after a rejected challenge of another task.
        case -999:
            return DownloadError(.connectionLost, "The system cancelled the request to \(server).")
        case 306, 310:
            let proxy = request.proxy.map { "the proxy \($0)" } ?? "the proxy of the system's settings"
            return DownloadError(.connection, "No connection to \(proxy) could be made: \(words).")
        case 307, 311:
            let proxy = request.proxy.map { "The proxy \($0)" } ?? "The proxy of the system's settings"
            return DownloadError(.proxy, "\(proxy) refuses a connection to \(server): \(words). Check its login.")
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
        // ``ServerTrust`` reports its own errors for the configuration's authorities, so this error is the system's.
        case -1204 ... -1200 where hasOwnAuthorities:
            return DownloadError(
                .tls,
                "The secure connection to \(server) failed: \(words). In an app, App Transport Security does not know "
                    + "certificateAuthorities: set NSExceptionAllowsInsecureHTTPLoads for the domain in the app's Info.plist."
            )
        case -1204 ... -1200:
            return DownloadError(.tls, "The secure connection to \(server) failed: \(words).")
                // For an unknown authority, the system usually reports that the certificate is not trusted.
                .remedied(by: [-1202, -1203].contains(code) ? .certificateAuthorities : nil)
        case -1022:
            return DownloadError(
                .invalidRequest,
                "App Transport Security does not allow a connection to \(server): use an https URL, or add an exception "
                    + "for the host to the app's Info.plist."
            )
        // The URL's scheme was checked before, so the server uses an unsupported protocol.
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

    /// The text of ``detail`` without its full stop.
    private var words: String { detail.withoutFullStop }

    /// Whether ``detail`` reports a malformed response: on Linux, it is libcurl's message, and the code is the same for
    /// nearly all failures.
    private var isViolation: Bool {
        let words = words.lowercased()
        return ["chunked-encoding", "unencoding", "header"].contains(where: words.contains)
            // libcurl reports a header line over its limit as a failed allocation.
            || !hasHead && words == "out of memory"
    }
}
