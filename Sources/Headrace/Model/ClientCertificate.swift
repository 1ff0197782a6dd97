public import HeadracePlatform

/// Tells an https server who the client is, where it asks (RFC 8446, section 4.4.2).
public struct ClientCertificate: Sendable, Hashable {
    /// A PEM file of the certificate, and behind it those that lead to its authority.
    public var file: URL
    /// A PEM file of its private key, without a passphrase.
    public var key: URL

    /// Creates a client certificate; the files are read with each connection.
    /// - Parameters:
    ///   - file: A PEM file of the certificate.
    ///   - key: A PEM file of its private key; nil where it is in the same file.
    public init(file: URL, key: URL? = nil) {
        self.file = file
        self.key = key ?? file
    }
}

extension DownloadConfiguration {
    /// Throws unless what is set for TLS can be meant.
    func validateTLS() throws(DownloadError) {
        for file in [clientCertificate?.file, clientCertificate?.key] {
            guard let file, !file.isFileURL else { continue }
            throw DownloadError(.invalidRequest, "clientCertificate is no file URL: \(file.absoluteString).")
        }
        let start = "sha256//"
        for key in pinnedPublicKeys {
            // libcurl compares texts.
            let text = key.dropFirst(start.count)
            let bytes = [UInt8](base64: text) ?? []
            guard key.hasPrefix(start), bytes.count == 32, Data(bytes).base64EncodedString() == text else {
                throw DownloadError(
                    .invalidRequest,
                    "\"\(key.prefix(100).description.printable)\" is no pinned key; one is sha256// and the base64 of 32 bytes."
                )
            }
        }
    }
}
