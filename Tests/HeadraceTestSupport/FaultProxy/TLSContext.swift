import CHeadraceTestSupport
import HeadracePlatform

/// A certificate with its key, ready to be shown to clients.
final class TLSContext: Sendable {
    /// A pointer to what libssl guards by locks of its own.
    private struct Pointer: @unchecked Sendable {
        let raw: htls_context
    }

    private let context: Pointer

    static var isAvailable: Bool { htls_load() }

    /// Creates a context; with `protocols`, a sum of the `HTLS_HTTP` constants, it selects one by ALPN.
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

    /// Makes the server's side of the handshake; nil where it fails.
    func accept(_ socket: Socket) -> TLSSession? {
        htls_accept(context.raw, socket.descriptor).map(TLSSession.init)
    }

    /// The bytes between the lines of dashes.
    private static func decoded(_ pem: String) -> [UInt8] {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }
        return [UInt8](Data(base64Encoded: lines.joined()) ?? Data())
    }
}

/// One connection's encryption, on the thread of that connection.
struct TLSSession {
    private let session: htls_session

    init(_ session: htls_session) {
        self.session = session
    }

    /// Whether bytes were decrypted that nobody has taken; the socket does not tell of them.
    var hasPending: Bool { htls_pending(session) > 0 }

    /// Whether ALPN selected HTTP/2.
    var isHTTP2: Bool { htls_is_http_2(session) }

    /// Receives what there is, after a wait if need be; zero at the end of the connection, however it ended.
    func receive(into buffer: inout [UInt8]) -> Int {
        Int(htls_receive(session, &buffer, Int32(buffer.count)))
    }

    /// Sends everything; false where the connection broke.
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        htls_send(session, bytes.baseAddress, Int32(bytes.count))
    }

    func sayGoodbye() {
        htls_say_goodbye(session)
    }

    func free() {
        htls_free(session)
    }
}
