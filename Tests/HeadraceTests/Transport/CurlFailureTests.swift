#if os(Linux)
import CHeadrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The codes and messages of libcurl 7.68 to 8.23, with OpenSSL and GnuTLS.
@Suite(.timeLimit(.minutes(4)))
struct CurlFailureTests {
    private func error(
        _ code: hr_code,
        _ detail: String = "",
        osError: Int32 = 0,
        hasHead: Bool = false,
        isResumable: Bool = false,
        madeNoConnection: Bool = false,
        connectStatus: Int = 0,
        resolver: String? = nil,
        proxy: String? = nil
    ) throws -> DownloadError {
        let failure = CurlFailure(
            code: code,
            name: "failed",
            text: detail,
            osError: osError,
            hasHead: hasHead,
            isResumable: isResumable,
            madeNoConnection: madeNoConnection,
            connectStatus: connectStatus,
            resolver: resolver
        )
        var request = TransportRequest(url: try #require(URL(string: "https://example.org/x")))
        request.proxy = try proxy.map { try ProxyServer(parsing: $0) }
        return failure.error(for: request)
    }

    @Test(arguments: [
        "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to example.org:443",
        "TLS connect error: error:00000000:lib(0)::unexpected eof while reading",
        "Recv failure: Connection reset by peer",
        "GnuTLS, handshake failed: The TLS connection was non-properly terminated.",
    ])
    func `L21 an interrupted handshake is retried`(_ detail: String) throws {
        #expect(try error(HR_E_SSL_CONNECT_ERROR, detail).code == .connection)
    }

    /// Since 8.5, libcurl's message is that of nghttp2, even if it did not cause the failure.
    @Test(arguments: [HR_E_RECV_ERROR, HR_E_HTTP2_STREAM, HR_E_PARTIAL_FILE])
    func `S10 a field that libcurl rejected is in no message and decides nothing`(_ code: hr_code) throws {
        let field = "frame type: 1, stream: 1, name: [set-cookie], value: [certificate required hunk \u{1}]"
        let ignored = try error(code, "Ignoring received invalid HTTP header field: \(field)", hasHead: true)
        #expect(ignored.code == .connectionLost)
        #expect(!ignored.message.contains("cookie"))
        let rejected = try error(code, "Invalid HTTP header field was received: \(field)")
        #expect(rejected.code == .protocolViolation)
        #expect(!rejected.message.contains("cookie"))
        #expect(try error(HR_E_RECV_ERROR, "a\u{1B}b").message.hasSuffix("a\u{FFFD}b."))
    }

    @Test func `a resolver over HTTPS that finds no address is no lack of memory`() throws {
        let unknown = try error(HR_E_OUT_OF_MEMORY, resolver: "dns.example")
        #expect(unknown.code == .nameResolution)
        #expect(unknown.message == "The host example.org could not be found by the resolver dns.example.")
        #expect(try error(HR_E_OUT_OF_MEMORY).code == .protocolViolation)
    }

    @Test func `a refused handshake is not retried, even if another address did not respond before`() throws {
        for osError in [0, ECONNREFUSED, ENETUNREACH] {
            #expect(try error(HR_E_SSL_CONNECT_ERROR, "alert handshake failure", osError: osError).code == .tls)
            for words in ["ssl3_get_record:wrong version number", "An unexpected TLS packet was received."] {
                #expect(try error(HR_E_SSL_CONNECT_ERROR, words, osError: osError).message.contains("is it http://?"))
            }
        }
        #expect(try error(HR_E_SSL_CONNECT_ERROR, "", osError: ECONNRESET).code == .connection)
    }

    @Test func `a stream error is a violation if curl reset it, and a lost connection if the server did`() throws {
        let ambiguous = "HTTP/2 stream 1 was not closed cleanly: PROTOCOL_ERROR (err 1)"
        for (words, hasHead, isResumable, code, isTransient) in [
            (ambiguous, false, false, DownloadError.Code.protocolViolation, false),
            (ambiguous, true, false, .protocolViolation, false),
            (ambiguous, true, true, .protocolViolation, true),
            ("HTTP/2 stream 1 reset by curl (error 0x1 PROTOCOL_ERROR)", true, false, .protocolViolation, false),
            ("HTTP/2 stream 1 reset by server (error 0x1 PROTOCOL_ERROR)", true, false, .connectionLost, true),
            ("HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", true, false, .connectionLost, true),
        ] {
            let error = try error(HR_E_HTTP2_STREAM, words, hasHead: hasHead, isResumable: isResumable)
            #expect(error.code == code, "\(words)")
            #expect(error.isTransient == isTransient, "\(words)")
        }
    }

    @Test func `the proxy's response determines the error, whatever curl's error code is`() throws {
        for code in [HR_E_RECV_ERROR, HR_E_COULDNT_CONNECT] {
            let expected: [(Int, DownloadError.Code)] = [(407, .proxy), (403, .proxy), (502, .connection)]
            for (status, expected) in expected {
                let error = try error(
                    code,
                    "CONNECT tunnel failed",
                    connectStatus: status,
                    proxy: "http://proxy.example:3128"
                )
                #expect(error.code == expected, "\(status)")
                #expect(status == 407 || error.message.contains("\(status)"))
            }
        }
        let unreachable = try error(HR_E_COULDNT_CONNECT, osError: ECONNREFUSED, proxy: "http://proxy.example:3128")
        #expect(unreachable.message.contains("No connection to the proxy"))
    }

    @Test func `L18 an endless header line is a violation, whatever the error code`() throws {
        for code in [HR_E_OUT_OF_MEMORY, HR_E_TOO_LARGE] {
            let error = try error(code, "Out of memory")
            #expect(error.code == .protocolViolation && error.message.contains("too long"))
        }
        let multiplexed = "nghttp2_session_mem_recv() returned -902: The user callback function failed"
        #expect(try error(HR_E_RECV_ERROR, multiplexed).code == .protocolViolation)
        #expect(try error(HR_E_OUT_OF_MEMORY, "Out of memory", hasHead: true).code == .connectionLost)
    }

    @Test func `surplus bytes of a response are not blamed on the next one on its connection`() throws {
        for code in [HR_E_UNSUPPORTED_PROTOCOL, HR_E_WEIRD_SERVER_REPLY] {
            #expect(try error(code, "Invalid status line").code == .protocolViolation)
            #expect(try error(code, "Invalid status line", madeNoConnection: true).code == .connectionLost)
            let withHead = try error(code, "Invalid status line", hasHead: true, madeNoConnection: true)
            #expect(withHead.code == .protocolViolation)
        }
    }

    @Test func `a connection closed within the header is reported as lost`() throws {
        let error = try error(HR_E_OK, "No error")
        #expect(error.code == .connectionLost)
        #expect(error.message == "The connection to example.org:443 ended before the response header was complete.")
    }
}
#endif
