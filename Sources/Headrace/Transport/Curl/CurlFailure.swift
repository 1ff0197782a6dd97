#if os(Linux)
import CHeadrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What libcurl said of a failed transfer, and its meaning.
struct CurlFailure {
    var code: hr_code
    /// libcurl's own words.
    var detail: String
    /// The `errno` of a failed connection.
    var osError: Int32
    var hasHead: Bool
    /// Whether the connection had served another request before.
    var isReused: Bool
    /// The address that was not allowed, where no other was tried.
    var refusedAddress: String?
    /// A rule that the answer broke, found by ourselves.
    var violation: String?

    func error(for request: TransportRequest) -> DownloadError {
        if let violation { return DownloadError(.protocolViolation, violation) }
        let server = request.url.server
        if let refusedAddress {
            return DownloadError(
                .addressRefused,
                "No connection to \(server) was made: its address \(refusedAddress) is not allowed."
            )
        }
        switch code {
        case HR_E_COULDNT_RESOLVE_HOST:
            return DownloadError(.nameResolution, "The host \(request.url.host() ?? "") could not be found.")
        case HR_E_COULDNT_RESOLVE_PROXY:
            return DownloadError(.nameResolution, "The proxy could not be found: \(detail).")
        case HR_E_COULDNT_CONNECT, HR_E_PROXY:
            let why = osError == 0 ? detail : SystemError(errno: osError).description
            return DownloadError(.connection, "No connection to \(server) could be made: \(why).")
        case HR_E_OPERATION_TIMEDOUT:
            return DownloadError(
                .connection,
                "No connection to \(server) was made within \(request.connectTimeout.inSeconds)."
            )
        case HR_E_SSL_CONNECT_ERROR where isInterrupted:
            return DownloadError(.connection, "The connection to \(server) ended during the TLS handshake: \(detail).")
        case HR_E_SSL_CONNECT_ERROR, HR_E_SSL_CERTPROBLEM, HR_E_SSL_CIPHER, HR_E_PEER_FAILED_VERIFICATION,
            HR_E_SSL_CRL_BADFILE, HR_E_SSL_ISSUER_ERROR, HR_E_SSL_PINNEDPUBKEYNOTMATCH, HR_E_SSL_INVALIDCERTSTATUS,
            HR_E_SSL_CLIENTCERT:
            return DownloadError(.tls, "The secure connection to \(server) failed: \(detail).")
        case HR_E_SSL_CACERT_BADFILE:
            return DownloadError(.tls, "The certificate authorities could not be read: \(detail).")
        case HR_E_URL_MALFORMAT:
            return DownloadError(.invalidRequest, "libcurl does not accept the URL: \(detail).")
        case _ where isProtocolViolation:
            return DownloadError(.protocolViolation, "The server's answer is not valid HTTP: \(detail).")
        case HR_E_GOT_NOTHING:
            return DownloadError(.connectionLost, "The server closed the connection without an answer.")
        default:
            let when = hasHead ? "before all bytes were there" : "before the answer was complete"
            return DownloadError(.connectionLost, "The connection to \(server) ended \(when): \(detail).")
        }
    }

    /// Whether a handshake was cut rather than refused, for which libcurl has one code.
    private var isInterrupted: Bool {
        let words = detail.lowercased()
        return osError != 0 || ["syscall", "eof", "reset"].contains(where: words.contains)
    }

    private var isProtocolViolation: Bool {
        switch code {
        case HR_E_WEIRD_SERVER_REPLY, HR_E_FILESIZE_EXCEEDED, HR_E_BAD_CONTENT_ENCODING: true
        // HTTP/0.9 is reported as an unsupported protocol; the URL's scheme was checked before.
        // On a kept connection it is what the answer before had too much, for which this request is not to blame.
        case HR_E_UNSUPPORTED_PROTOCOL: !isReused
        // libcurl's own bound on a header line is reported as a failed allocation.
        case HR_E_OUT_OF_MEMORY: !hasHead
        // Some versions report so a trailer that is no field.
        case HR_E_BAD_FUNCTION_ARGUMENT: hasHead
        // libcurl has one code for a broken connection and for bytes that are no chunk or header; its text tells.
        case HR_E_RECV_ERROR:
            detail.contains("chunked-encoding") || detail.contains("hunk") || detail.contains("response headers")
        default: false
        }
    }
}

extension URL {
    /// Host and port, as in `example.org:443`.
    fileprivate var server: String {
        "\(host() ?? ""):\(port ?? (scheme?.lowercased() == "https" ? 443 : 80))"
    }
}
#endif
