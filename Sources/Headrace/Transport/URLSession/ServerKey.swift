import HeadracePlatform

/// Parses certificates: computes key pins, and decodes PEM files of certificate authorities.
///
/// Performs no I/O.
enum ServerKey {
    /// Returns the pin `sha256//BASE64` of the public key in a DER certificate (RFC 5280, section 4.1); `nil` if the
    /// certificate is malformed.
    static func pin(of certificate: [UInt8]) throws(DownloadError) -> String? {
        // The key follows version (optional), serial number, signature, issuer, validity and subject.
        guard let outer = element(of: certificate[...]), outer.tag == 0x30,
            let toBeSigned = element(of: outer.content), toBeSigned.tag == 0x30
        else { return nil }
        var rest = toBeSigned.content
        if let version = element(of: rest), version.tag == 0xa0 { rest = rest[version.content.endIndex...] }
        for tag: UInt8 in [0x02, 0x30, 0x30, 0x30, 0x30] {
            guard let field = element(of: rest), field.tag == tag else { return nil }
            rest = rest[field.content.endIndex...]
        }
        guard let key = element(of: rest), key.tag == 0x30 else { return nil }
        let digester = try Digester(.sha256)
        rest[..<key.content.endIndex].withUnsafeBytes(digester.update)
        return "sha256//\(Data(try digester.finalize().bytes).base64EncodedString())"
    }

    /// Decodes PEM certificates (RFC 7468, section 5) to DER; returns `nil` if there are none or one is malformed.
    static func certificates(inPEM text: String) -> [[UInt8]]? {
        var certificates: [[UInt8]] = []
        let parts = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false)
        for part in parts.dropFirst() {
            guard let end = part.firstRange(of: "-----END CERTIFICATE-----"),
                let bytes = [UInt8](base64: part[..<end.lowerBound].filter { !$0.isWhitespace })
            else { return nil }
            certificates.append(bytes)
        }
        return certificates.isEmpty ? nil : certificates
    }

    /// Parses the first DER element; returns `nil` if the element is truncated or longer than 65,535 bytes.
    private static func element(of bytes: ArraySlice<UInt8>) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard bytes.count >= 2 else { return nil }
        var start = bytes.startIndex + 2
        var length = Int(bytes[bytes.startIndex + 1])
        if length >= 0x80 {
            let end = start + length - 0x80
            guard (0x81...0x82).contains(length), end <= bytes.endIndex else { return nil }
            length = bytes[start..<end].reduce(0) { $0 << 8 | Int($1) }
            start = end
        }
        guard start + length <= bytes.endIndex else { return nil }
        return (bytes[bytes.startIndex], bytes[start..<start + length])
    }
}
