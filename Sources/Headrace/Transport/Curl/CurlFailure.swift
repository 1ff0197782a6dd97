#if os(Linux)
import CHeadrace
import HeadracePlatform

/// What libcurl said of a failed transfer, and its meaning.
struct CurlFailure {
    var code: hr_code
    /// libcurl's own words.
    var detail: String
    /// The `errno` of a failed connection.
    var osError: Int32
    var hasHead: Bool
    /// Whether the response said that the rest of its body can be requested.
    var isResumable = false
    /// Whether the connection had served another request before.
    var isReused: Bool
    /// What an HTTP proxy answered when it was asked for a connection; 0 where it was not.
    var connectStatus: Int
    /// The address that was not allowed, where no other was tried.
    var refusedAddress: String?
    /// A rule that the answer broke, found by ourselves.
    var violation: String?

    func error(for request: TransportRequest) -> DownloadError {
        if let violation { return DownloadError(.protocolViolation, violation) }
        let server = request.url.server + (request.proxy.map { " through the proxy \($0.address)" } ?? "")
        if [EMFILE, ENFILE].contains(osError) {
            return .storage("No connection to \(server) could be made", SystemError(errno: osError))
        }
        if let proxy = request.proxy, let error = error(of: proxy, for: request) { return error }
        if let refusedAddress {
            return DownloadError(
                .addressRefused,
                "No connection to \(server) was made: its address \(refusedAddress) is not allowed."
            )
        }
        switch code {
        case HR_E_COULDNT_RESOLVE_HOST:
            return DownloadError(.nameResolution, "The host \(request.url.host() ?? "") could not be found.")
        case HR_E_COULDNT_CONNECT:
            var error = DownloadError(.connection, "No connection to \(server) could be made: \(why).")
            error.isConnectionRefused = osError == ECONNREFUSED
            return error
        case HR_E_OPERATION_TIMEDOUT:
            return DownloadError(
                .connection,
                "No connection to \(server) was made within \(request.connectTimeout.inSeconds)."
            )
        case HR_E_SSL_CONNECT_ERROR where isPlain:
            return DownloadError(.tls, "The server \(server) does not speak TLS at this port: is it http://?")
        case HR_E_SSL_CONNECT_ERROR where isInterrupted:
            return DownloadError(.connection, "The connection to \(server) ended during the TLS handshake: \(detail).")
        case HR_E_SSL_PINNEDPUBKEYNOTMATCH:
            return .unpinned(server)
        case HR_E_SSL_CERTPROBLEM:
            return DownloadError(
                .tls,
                "The client certificate could not be used: \(detail). Give a PEM file and the key that belongs to it, "
                    + "without a passphrase."
            )
        case HR_E_SSL_CLIENTCERT,
            _ where requiresCertificate:
            return DownloadError(.tls, "The server \(server) asks for a client certificate: \(detail).")
        case HR_E_SSL_CONNECT_ERROR, HR_E_SSL_CIPHER, HR_E_PEER_FAILED_VERIFICATION,
            HR_E_SSL_CRL_BADFILE, HR_E_SSL_ISSUER_ERROR, HR_E_SSL_INVALIDCERTSTATUS:
            return DownloadError(.tls, "The secure connection to \(server) failed: \(detail).")
                .remedied(by: hasUnknownAuthority ? .certificateAuthorities : nil)
        case HR_E_SSL_CACERT_BADFILE:
            return DownloadError(.tls, "The certificate authorities could not be read: \(detail).")
        case HR_E_URL_MALFORMAT:
            return DownloadError(.invalidRequest, "libcurl does not accept the URL: \(detail).")
        case HR_E_OUT_OF_MEMORY where !hasHead,
            HR_E_TOO_LARGE:
            return DownloadError(.protocolViolation, "The server's answer has a header line that is too long.")
        case _ where isProtocolViolation:
            var error = DownloadError(.protocolViolation, "The server's answer is not valid HTTP: \(detail).")
            // What is no chunk may be so once, as where a proxy was cut.
            // A stream that broke a rule looks like one that the server reset, which happens on good servers too.
            error.mayPass = hasHead && (code == HR_E_RECV_ERROR || code == HR_E_HTTP2_STREAM && isResumable)
            return error
        case HR_E_GOT_NOTHING:
            return DownloadError(.connectionLost, "The server closed the connection without an answer.")
        default:
            let when = hasHead ? "before all bytes were there" : "before the answer was complete"
            // libcurl takes the end within a header for a good one.
            let reason = code == HR_E_OK ? "" : ": \(detail)"
            return DownloadError(.connectionLost, "The connection to \(server) ended \(when)\(reason).")
        }
    }

    /// Why no connection was made, in the system's words where there are any.
    private var why: String { osError == 0 ? detail : SystemError(errno: osError).description }

    /// What went wrong at the proxy; nil where it is not to blame.
    private func error(of proxy: ProxyServer, for request: TransportRequest) -> DownloadError? {
        let server = request.url.server
        // The releases have different codes for these.
        if let error = refusal(of: proxy, of: server) { return error }
        switch code {
        case HR_E_COULDNT_RESOLVE_PROXY:
            return DownloadError(.nameResolution, "The proxy \(proxy) could not be found; check its name.")
        // Older releases have no code of its own for what a SOCKS proxy refuses.
        case HR_E_PROXY,
            HR_E_COULDNT_CONNECT where proxy.isSOCKS && osError == 0:
            return detailMentions(of: "rejected", "authentication")
                ? .proxyLogin(proxy)
                : DownloadError(.connection, "The proxy \(proxy) could not connect to \(server): \(detail).")
        case HR_E_COULDNT_CONNECT:
            var error = DownloadError(.connection, "No connection to the proxy \(proxy) could be made: \(why).")
            error.isConnectionRefused = osError == ECONNREFUSED
            return error
        case HR_E_SSL_CONNECT_ERROR where isPlain && proxy.speaksTLS && connectStatus == 0:
            return DownloadError(.proxy, "The proxy \(proxy) does not speak TLS at this port: is it http://?")
        default: return nil
        }
    }

    /// What an HTTP proxy answered instead of connecting to the server; nil where it did not.
    private func refusal(of proxy: ProxyServer, of server: String) -> DownloadError? {
        switch connectStatus {
        case 0, 200..<300: return nil
        case 407: return .proxyLogin(proxy)
        // It tried.
        case 500...:
            return DownloadError(
                .connection,
                "The proxy \(proxy) could not connect to \(server): it answered with status \(connectStatus)."
            )
        default:
            return DownloadError(
                .proxy,
                "The proxy \(proxy) refuses a connection to \(server): it answered with status \(connectStatus). "
                    + "Ask those who run it, or leave it out for this host.",
                statusCode: connectStatus
            )
        }
    }

    /// Whether the server ended a handshake of TLS 1.3 for want of a certificate, of which only an alert behind it tells.
    private var requiresCertificate: Bool { detailMentions(of: "certificate required") }

    /// Whether what came in place of a handshake was no TLS.
    private var isPlain: Bool { detailMentions(of: "wrong version number", "unexpected tls packet") }

    /// Whether the certificate may be right for who trusts its authority; libcurl has one code for all that is wrong with one.
    private var hasUnknownAuthority: Bool {
        detailMentions(
            of: "self-signed",
            "self signed",
            "issuer certificate",
            "unable to verify the first",
            "server certificate verification failed"
        )
    }

    /// Whether a handshake was cut rather than refused, for which libcurl has one code.
    private var isInterrupted: Bool {
        // The error may be of another address of the host, which was tried before.
        [ECONNRESET, ECONNABORTED, EPIPE, ETIMEDOUT].contains(osError)
            || detailMentions(of: "syscall", "eof", "reset", "non-properly terminated")
    }

    private func detailMentions(of words: String...) -> Bool {
        let detail = detail.lowercased()
        return words.contains(where: detail.contains)
    }

    private var isProtocolViolation: Bool {
        switch code {
        case HR_E_FILESIZE_EXCEEDED, HR_E_BAD_CONTENT_ENCODING: true
        // HTTP/0.9 is reported as an unsupported protocol or a weird reply; the URL's scheme was checked before.
        // On a kept connection it is what the answer before had too much, for which this request is not to blame.
        case HR_E_UNSUPPORTED_PROTOCOL, HR_E_WEIRD_SERVER_REPLY: !isReused || hasHead
        // Some versions report so a trailer that is no field, or a header that begins with half a field.
        case HR_E_BAD_FUNCTION_ARGUMENT: true
        // libcurl has one code for a broken connection and for bytes that are no chunk or header; its text tells.
        case HR_E_RECV_ERROR:
            detailMentions(of: "chunked-encoding", "hunk", "response headers")
                || !hasHead && detailMentions(of: "nghttp2_session_mem_recv")
        // Newer releases name the side that reset the stream; a reset by libcurl is for a rule that the response broke.
        case HR_E_HTTP2_STREAM: detailMentions(of: "protocol_error") && !detailMentions(of: "reset by server")
        default: false
        }
    }
}
#endif
