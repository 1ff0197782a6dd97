#if os(Linux)
import CHeadrace
import HeadracePlatform

/// The failure of a transfer as libcurl describes it, converted to a `DownloadError` by ``error(for:)``.
struct CurlFailure {
    var code: hr_code
    /// libcurl's name for the code.
    var name: String
    /// libcurl's error message; empty if there is none.
    var text: String
    /// The `errno` of a failed connection; 0 if there is none.
    var osError: Int32
    var hasHead: Bool
    /// Whether the response indicated that the remaining bytes can be requested with a range.
    var isResumable = false
    /// Whether the transfer made no new connection: it reused one, or its request was not sent.
    var madeNoConnection: Bool
    /// The status of an HTTP proxy's response to CONNECT; 0 if there was none.
    var connectStatus: Int
    /// The last IP address that the ``AddressRule`` refused; `nil` if it refused none, or allowed at least one.
    var refusedAddress: String?
    /// The host of the resolver over HTTPS; `nil` if the system's was used, or a connection was attempted.
    var resolver: String?
    /// The protocol violation that Headrace, not libcurl, detected; `nil` if there is none.
    var violation: String?

    /// libcurl's error message, or else the name of the code; contains nothing that a server sent.
    private var detail: String {
        let isForeign = text.isEmpty || text.hasPrefix("Ignoring received invalid HTTP header") || hasInvalidField
        return isForeign ? name : text.printable
    }

    /// Whether libcurl rejected a field over HTTP/2; since 8.5, its message then contains the field.
    private var hasInvalidField: Bool { text.hasPrefix("Invalid HTTP header field was received") }

    func error(for request: TransportRequest) -> DownloadError {
        if let violation { return DownloadError(.protocolViolation, violation) }
        let server = request.url.server + (request.proxy.map { " through the proxy \($0.address)" } ?? "")
        let failure = SystemError(errno: osError)
        if failure.isOutOfDescriptors { return .storage("No connection to \(server) could be made", failure) }
        if let proxy = request.proxy, let error = error(of: proxy, for: request) { return error }
        if let refusedAddress {
            return DownloadError(
                .addressRefused,
                "No connection to \(server) was made: its address \(refusedAddress) is not allowed."
            )
        }
        return connectionError(server, request) ?? tlsError(server) ?? responseError(server)
    }

    /// Returns the error if libcurl made no connection, or did not even try to; `nil` for other failures.
    private func connectionError(_ server: String, _ request: TransportRequest) -> DownloadError? {
        switch code {
        // Before 8.5, libcurl reports that memory ran out if a resolver over HTTPS finds no address.
        case HR_E_COULDNT_RESOLVE_HOST,
            HR_E_OUT_OF_MEMORY where resolver != nil:
            let place = resolver.map { " by the resolver \($0)" } ?? ""
            return DownloadError(.nameResolution, "The host \(request.url.host() ?? "") could not be found\(place).")
        case HR_E_COULDNT_CONNECT:
            var error = DownloadError(.connection, "No connection to \(server) could be made: \(why).")
            error.isConnectionRefused = osError == ECONNREFUSED
            return error
        case HR_E_OPERATION_TIMEDOUT:
            return DownloadError(
                .connection,
                "No connection to \(server) was made within \(request.connectTimeout.inSeconds)."
            )
        case HR_E_INTERFACE_FAILED:
            return DownloadError(.connection, "The network interface for connections cannot be used: \(detail).")
        case HR_E_URL_MALFORMAT:
            return DownloadError(.invalidRequest, "libcurl does not accept the URL: \(detail).")
        default: return nil
        }
    }

    /// Returns the error if TLS failed; `nil` otherwise.
    private func tlsError(_ server: String) -> DownloadError? {
        switch code {
        case HR_E_SSL_CONNECT_ERROR where isPlain:
            DownloadError(.tls, "The server \(server) does not speak TLS at this port: is it http://?")
        case HR_E_SSL_CONNECT_ERROR where isInterrupted:
            DownloadError(.connection, "The connection to \(server) ended during the TLS handshake: \(detail).")
        case HR_E_SSL_PINNEDPUBKEYNOTMATCH: .unpinned(server)
        case HR_E_SSL_CERTPROBLEM:
            DownloadError(
                .tls,
                "The client certificate could not be used: \(detail). Use a PEM file and its private key, "
                    + "without a passphrase."
            )
        case HR_E_SSL_CLIENTCERT,
            _ where requiresCertificate:
            DownloadError(.tls, "The server \(server) requires a client certificate: \(detail).")
        case HR_E_SSL_CONNECT_ERROR, HR_E_SSL_CIPHER, HR_E_PEER_FAILED_VERIFICATION,
            HR_E_SSL_CRL_BADFILE, HR_E_SSL_ISSUER_ERROR, HR_E_SSL_INVALIDCERTSTATUS:
            DownloadError(.tls, "The secure connection to \(server) failed: \(detail).")
                .remedied(by: hasUnknownAuthority ? .certificateAuthorities : nil)
        case HR_E_SSL_CACERT_BADFILE:
            DownloadError(.tls, "The certificate authorities could not be read: \(detail).")
        default: nil
        }
    }

    /// Returns the error for all other failures, in which the response was invalid or incomplete.
    private func responseError(_ server: String) -> DownloadError {
        switch code {
        case HR_E_OUT_OF_MEMORY where !hasHead,
            HR_E_TOO_LARGE:
            return DownloadError(.protocolViolation, "The response has a header line that is too long.")
        case _ where isProtocolViolation:
            var error = DownloadError(.protocolViolation, "The response is not valid HTTP: \(detail).")
            // Two failures may be temporary. An interrupted proxy can leave an invalid chunk. A stream error looks
            // like a reset by the server, which correct servers send too.
            error.isRetryable = hasHead && (code == HR_E_RECV_ERROR || code == HR_E_HTTP2_STREAM && isResumable)
            return error
        case HR_E_GOT_NOTHING:
            return DownloadError(.connectionLost, "The server closed the connection without a response.")
        default:
            let when = hasHead ? "before all bytes were received" : "before the response header was complete"
            // libcurl reports success if the connection ends within the header.
            let reason = code == HR_E_OK ? "" : ": \(detail)"
            return DownloadError(.connectionLost, "The connection to \(server) ended \(when)\(reason).")
        }
    }

    /// The reason for a failed connection: the system's error message if known, else libcurl's.
    private var why: String { osError == 0 ? detail : SystemError(errno: osError).description }

    /// Returns the error if the proxy caused the failure, else `nil`.
    private func error(of proxy: ProxyServer, for request: TransportRequest) -> DownloadError? {
        let server = request.url.server
        // Uses the status of the response: libcurl's code for a rejected CONNECT differs between releases.
        if let error = refusal(of: proxy, of: server) { return error }
        switch code {
        case HR_E_COULDNT_RESOLVE_PROXY:
            return DownloadError(.nameResolution, "The proxy \(proxy) could not be found; check its name.")
        // Older releases have no separate code for a rejection by a SOCKS proxy.
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

    /// Returns the error for an HTTP proxy that rejected CONNECT; returns `nil` if the proxy did not reject it.
    private func refusal(of proxy: ProxyServer, of server: String) -> DownloadError? {
        switch connectStatus {
        case 0, 200..<300: return nil
        case 407: return .proxyLogin(proxy)
        // A 5xx response means that the proxy has tried to connect.
        case 500...:
            return DownloadError(
                .connection,
                "The proxy \(proxy) could not connect to \(server): it responded with status \(connectStatus)."
            )
        default:
            return DownloadError(
                .proxy,
                "The proxy \(proxy) refused a connection to \(server): it responded with status \(connectStatus). "
                    + "Ask its operator, or exclude this host from the proxy.",
                statusCode: connectStatus
            )
        }
    }

    /// Whether the server rejected the TLS connection because the client sent no certificate.
    ///
    /// With TLS 1.3, the server's alert arrives only after the handshake, and libcurl's code need not show the reason.
    private var requiresCertificate: Bool { detailMentions(of: "certificate required") }

    /// Whether the peer responded to the handshake with something other than TLS.
    private var isPlain: Bool { detailMentions(of: "wrong version number", "unexpected tls packet") }

    /// Whether the error message says that the certificate's authority is unknown; libcurl has one code for all
    /// certificate errors.
    private var hasUnknownAuthority: Bool {
        detailMentions(
            of: "self-signed",
            "self signed",
            "issuer certificate",
            "unable to verify the first",
            "server certificate verification failed"
        )
    }

    /// Whether the handshake was interrupted rather than rejected; libcurl has one code for both.
    private var isInterrupted: Bool {
        // `osError` may be that of an address that was tried earlier, so the message is checked too.
        [ECONNRESET, ECONNABORTED, EPIPE, ETIMEDOUT].contains(osError)
            || detailMentions(of: "syscall", "eof", "reset", "non-properly terminated")
    }

    private func detailMentions(of words: String...) -> Bool {
        let detail = detail.lowercased()
        return words.contains(where: detail.contains)
    }

    private var isProtocolViolation: Bool {
        switch code {
        case _ where hasInvalidField: true
        case HR_E_FILESIZE_EXCEEDED, HR_E_BAD_CONTENT_ENCODING: true
        // libcurl reports an HTTP/0.9 response with these codes; the URL's scheme was checked before. On a reused
        // connection, the cause is excess data of the previous response.
        case HR_E_UNSUPPORTED_PROTOCOL, HR_E_WEIRD_SERVER_REPLY: !madeNoConnection || hasHead
        // Some versions report a malformed trailer, or a header that begins with half a field, with this code.
        case HR_E_BAD_FUNCTION_ARGUMENT: true
        // libcurl uses this code for a broken connection and for malformed chunks or headers; only its message differs.
        case HR_E_RECV_ERROR:
            detailMentions(of: "chunked-encoding", "hunk", "response headers")
                || !hasHead && detailMentions(of: "nghttp2_session_mem_recv")
        // Newer releases name the side that reset the stream: libcurl resets it if the response violates the protocol.
        case HR_E_HTTP2_STREAM: detailMentions(of: "protocol_error") && !detailMentions(of: "reset by server")
        default: false
        }
    }
}
#endif
