import HeadracePlatform

extension DownloadRequest {
    /// The maximum number of mirrors in a request.
    private static let maxMirrors = 64

    /// Throws `invalidRequest` if a property of the request is invalid, such as a URL or the destination.
    package func validate() throws(DownloadError) {
        do throws(DownloadError) {
            try Self.validateURL(url)
        } catch {
            // Attaching the URL would reveal the credentials that the message hides.
            throw url.absoluteString.utf8.contains(UInt8(ascii: "@")) ? error : error.about(url)
        }
        do throws(DownloadError) {
            guard mirrors.count <= Self.maxMirrors else {
                throw DownloadError(
                    .invalidRequest,
                    "The request has \(mirrors.count) mirrors; the maximum is \(Self.maxMirrors)."
                )
            }
            for mirror in mirrors { try Self.validateURL(mirror) }
            for field in headers { try field.validate() }
            try validateDestination()
            try validateExpectations()
            try rateLimit?.validateAsRate()
        } catch {
            throw error.about(url)
        }
    }

    static func validateURL(_ url: URL) throws(DownloadError) {
        // If the URL is not valid, any part of it may be a password.
        var text: String { url.absoluteString.withoutCredentials.printable }
        let scheme = url.scheme?.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw DownloadError(.invalidRequest, "\"\(text)\" is not an http or https URL.")
        }
        guard let host = url.host(), !host.isEmpty else {
            throw DownloadError(.invalidRequest, "\"\(text)\" has no host.")
        }
        let bytes = host.utf8.percentDecoded
        // The URL without percent-encoding, as the user typed it.
        var typed: String { String(utf8OrLatin1: text.utf8.percentDecoded).printable }
        guard bytes.allSatisfy({ $0 < 0x80 }) else {
            throw DownloadError(
                .invalidRequest,
                "\"\(typed)\" has a host that is not in ASCII. Use its ASCII form (IDNA), which contains xn--."
            )
        }
        guard isHost(bytes) else {
            throw DownloadError(
                .invalidRequest,
                "\"\(typed)\" is not a valid URL: its host is neither a name nor an address."
            )
        }
        guard url.port.map({ (1...65_535).contains($0) }) ?? true else {
            throw DownloadError(.invalidRequest, "\"\(text)\" has an invalid port.")
        }
    }

    /// Whether the bytes of a host are an IPv6 address or only unreserved characters (RFC 3986, section 2.3).
    ///
    /// Names with other characters cannot be resolved, and libcurl rejects them.
    private static func isHost(_ bytes: [UInt8]) -> Bool {
        guard bytes.contains(UInt8(ascii: ":")) else {
            return bytes.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
        }
        // Foundation may retain the brackets, and a zone identifier may follow the address (RFC 6874).
        let address = bytes.drop { $0 == UInt8(ascii: "[") }.prefix { !"%]".utf8.contains($0) }
        return IPAddress(String(decoding: address, as: UTF8.self)) != nil
    }

    private func validateExpectations() throws(DownloadError) {
        if let algorithm = checksums.contradiction {
            throw DownloadError(.invalidRequest, "The request has two \(algorithm) checksums that differ.")
        }
        guard let expectedSize else { return }
        guard expectedSize >= 0 else {
            throw DownloadError(.invalidRequest, "The expected size must be at least 0 bytes, not \(expectedSize).")
        }
        guard pieceHashes?.fit(fileSize: expectedSize) ?? true else {
            throw DownloadError(
                .invalidRequest,
                "The expected size of \(expectedSize) bytes does not match the piece hashes."
            )
        }
    }

    private func validateDestination() throws(DownloadError) {
        switch destination {
        case .file(let file), .directory(let file):
            guard file.isFileURL else {
                throw DownloadError(.invalidRequest, "The destination \(file.absoluteString) is not a file URL.")
            }
        }
        if case .file(let file) = destination, !SafeFileName.isComponent(file.lastPathComponent) {
            let isLong = file.lastPathComponent.utf8.count > SafeFileName.maxBytes
            throw DownloadError(
                .invalidRequest,
                "The destination \(file.filePath) has "
                    + (isLong ? "a file name of more than \(SafeFileName.maxBytes) bytes." : "no file name.")
            )
        }
    }
}
