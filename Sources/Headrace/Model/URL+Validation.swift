import HeadracePlatform

extension URL {
    /// Throws `invalidRequest` if this is not an `http` or `https` URL with a valid host and port.
    func validate() throws(DownloadError) {
        guard plainAuthority == nil else { return }
        // If the URL is not valid, any part of it may be a password.
        var text: String { absoluteString.withoutCredentials.printable }
        let scheme = self.scheme?.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw DownloadError(.invalidRequest, "\"\(text)\" is not an http or https URL.")
        }
        guard let host = self.host(), !host.isEmpty else {
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
        guard Self.isHost(bytes) else {
            throw DownloadError(
                .invalidRequest,
                "\"\(typed)\" is not a valid URL: its host is neither a name nor an address."
            )
        }
        guard port.map({ (1...65_535).contains($0) }) ?? true else {
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
}
