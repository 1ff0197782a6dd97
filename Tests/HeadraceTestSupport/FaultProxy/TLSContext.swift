import CHeadraceTestSupport
import HeadracePlatform

/// A certificate with its key, ready for server handshakes.
final class TLSContext: Sendable {
    /// A pointer to a libssl object that is safe to share between threads.
    private struct Pointer: @unchecked Sendable {
        let raw: htls_context
    }

    private let context: Pointer

    static var isAvailable: Bool { htls_load() }

    /// Creates a context that, given `protocols` (a sum of the `HTLS_HTTP` constants), selects one of them by ALPN.
    init(_ certificate: TestCertificate, requiresCertificate: Bool, protocols: Int? = nil) throws {
        let chain = Self.decoded(certificate.pem)
        let key = Self.decoded(TestCertificate.privateKey)
        guard htls_load(), let context = htls_context_new(chain, Int32(chain.count), key, Int32(key.count)) else {
            throw CallFailure("libssl", code: 0)
        }
        if requiresCertificate { htls_context_ask_client(context) }
        if let protocols { htls_context_support(context, Int32(protocols)) }
        self.context = Pointer(raw: context)
    }

    deinit {
        htls_context_free(context.raw)
    }

    /// Performs the server side of the handshake; `nil` if it fails.
    func accept(_ socket: Socket) -> TLSSession? {
        htls_accept(context.raw, socket.descriptor).map(TLSSession.init)
    }

    /// Decodes the bytes between the BEGIN and END lines.
    private static func decoded(_ pem: String) -> [UInt8] {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }
        return [UInt8](Data(base64Encoded: lines.joined()) ?? Data())
    }
}

/// The TLS state of one connection, used only on that connection's thread.
struct TLSSession {
    private let session: htls_session

    init(_ session: htls_session) {
        self.session = session
    }

    /// Whether decrypted bytes are waiting to be read; polling the socket does not report them.
    var hasPending: Bool { htls_pending(session) > 0 }

    /// Whether ALPN selected HTTP/2.
    var isHTTP2: Bool { htls_is_http_2(session) }

    /// Receives available bytes, waiting if there are none; zero once the connection has ended, however it ended.
    func receive(into buffer: inout [UInt8]) -> Int {
        Int(htls_receive(session, &buffer, Int32(buffer.count)))
    }

    /// Sends all bytes; `false` if the connection broke.
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        htls_send(session, bytes.baseAddress, Int32(bytes.count))
    }

    func sayGoodbye() {
        htls_send_close_notify(session)
    }

    func free() {
        htls_free(session)
    }
}
