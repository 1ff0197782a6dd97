public import HeadracePlatform

/// A certificate that identifies the client to https servers that request one (RFC 8446, section 4.4.2).
///
///     configuration.clientCertificate = ClientCertificate(file: certificate, key: key)
public struct ClientCertificate: Sendable, Hashable {
    /// The URL of a PEM file with the certificate, followed by the intermediate certificates.
    public var file: URL
    /// The URL of a PEM file with the unencrypted private key.
    public var key: URL

    /// Creates a client certificate; the files are read for each connection.
    /// - Parameters:
    ///   - file: The URL of a PEM file with the certificate.
    ///   - key: The URL of a PEM file with the unencrypted private key; `nil` if the key is in the same file.
    public init(file: URL, key: URL? = nil) {
        self.file = file
        self.key = key ?? file
    }
}

extension DownloadConfiguration {
    /// Throws `invalidRequest` if a pinned public key is malformed.
    func validateTLS() throws(DownloadError) {
        let start = "sha256//"
        for key in pinnedPublicKeys {
            // libcurl compares the text, so only the canonical base64 can match.
            let text = key.dropFirst(start.count)
            let bytes = [UInt8](base64: text) ?? []
            guard key.hasPrefix(start), bytes.count == 32, Data(bytes).base64EncodedString() == text else {
                throw DownloadError(
                    .invalidRequest,
                    "\"\(key.prefix(100).description.printable)\" is not a pinned key, which is sha256// and the base64 of 32 bytes."
                )
            }
        }
    }
}
