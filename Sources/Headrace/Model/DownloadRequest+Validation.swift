import HeadracePlatform

extension DownloadRequest {
    /// The most mirrors of one request.
    private static let maxMirrors = 64

    /// Throws `invalidRequest` unless the request can be made.
    package func validate() throws(DownloadError) {
        do throws(DownloadError) {
            try Self.validateURL(url)
        } catch {
            // The URL itself would show what its message hides.
            throw url.absoluteString.utf8.contains(UInt8(ascii: "@")) ? error : error.about(url)
        }
        do throws(DownloadError) {
            guard mirrors.count <= Self.maxMirrors else {
                throw DownloadError(
                    .invalidRequest,
                    "The request has \(mirrors.count) mirrors; \(Self.maxMirrors) are the most."
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
        // Of what is no URL of ours, nobody knows which part is a password.
        var text: String { url.absoluteString.withoutCredentials.printable }
        let scheme = url.scheme?.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw DownloadError(.invalidRequest, "\"\(text)\" is not an http or https URL.")
        }
        guard let host = url.host(), !host.isEmpty else {
            throw DownloadError(.invalidRequest, "\"\(text)\" has no host.")
        }
        let bytes = host.utf8.percentDecoded
        // As it was typed.
        var typed: String { String(utf8OrLatin1: text.utf8.percentDecoded).printable }
        guard bytes.allSatisfy({ $0 < 0x80 }) else {
            throw DownloadError(
                .invalidRequest,
                "\"\(typed)\" has a host that is not in ASCII. Give its ASCII form (IDNA), in which xn-- stands."
            )
        }
        guard isHost(bytes) else {
            throw DownloadError(.invalidRequest, "\"\(typed)\" is no URL: its host is neither a name nor an address.")
        }
        guard url.port.map({ (1...65_535).contains($0) }) ?? true else {
            throw DownloadError(.invalidRequest, "\"\(text)\" has a port that does not exist.")
        }
    }

    /// Whether it is an address of version 6, or a name of unreserved characters (RFC 3986, section 2.3).
    ///
    /// No other is in a name that can be looked up, and libcurl takes none.
    private static func isHost(_ bytes: [UInt8]) -> Bool {
        guard bytes.contains(UInt8(ascii: ":")) else {
            return bytes.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
        }
        // Foundation may leave the brackets; the name of an interface may follow (RFC 6874).
        let address = bytes.drop { $0 == UInt8(ascii: "[") }.prefix { !"%]".utf8.contains($0) }
        return IPAddress(String(decoding: address, as: UTF8.self)) != nil
    }

    private func validateExpectations() throws(DownloadError) {
        if let algorithm = checksums.contradiction {
            throw DownloadError(.invalidRequest, "The request has two \(algorithm) checksums that differ.")
        }
        guard let expectedSize else { return }
        guard expectedSize >= 0 else {
            throw DownloadError(.invalidRequest, "The expected size is \(expectedSize) bytes; 0 is the least.")
        }
        guard pieceHashes?.fit(fileSize: expectedSize) ?? true else {
            throw DownloadError(
                .invalidRequest,
                "The expected size is \(expectedSize) bytes, which are not as many as the pieces have."
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
