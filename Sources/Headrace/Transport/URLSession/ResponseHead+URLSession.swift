import HeadracePlatform

extension ResponseHead {
    /// Returns the fields that `URLSession` reports for a response, one value per name.
    ///
    /// Restores the transfer coding `chunked`, which Apple platforms report as `Identity` after decoding the body.
    static func fields(_ all: [AnyHashable: Any]) -> [String: String] {
        var fields: [String: String] = [:]
        for case (let name as String, let value as String) in all {
            let isDecoded = name.lowercased() == "transfer-encoding" && value.lowercased() == "identity"
            fields[name] = isDecoded ? "chunked" : value
        }
        return fields
    }

    /// Creates a head from the fields of `URLSession`, which joins fields of the same name.
    ///
    /// Throws if the response is invalid or exceeds the limits, or if `URLSession` would decode the body.
    init(url: URL, status: Int, joined fields: [String: String]) throws(DownloadError) {
        guard (200...599).contains(status) else {
            throw DownloadError(.protocolViolation, "The response has the invalid HTTP status \(status).")
        }
        let bytes = fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard fields.count <= ResponseHeadParser.maxFields, bytes <= ResponseHeadParser.maxBytes else {
            throw DownloadError(
                .protocolViolation,
                "The response header has \(fields.count) fields of \(bytes) bytes, which exceeds the limits."
            )
        }
        let all = fields.sorted { $0.key < $1.key }.flatMap { name, value in
            let values = name.lowercased() == "set-cookie" ? Self.cookies(joined: value) : [value]
            return values.map { HeaderField(name: name, value: $0) }
        }
        self.init(url: url, status: status, fields: all)
        guard carriesFile else { return }
        guard let coding = contentCodings.first else { return }
        throw DownloadError(
            .unexpectedContent,
            "The server sent the file with the coding \(coding.printable), although only identity was requested, and "
                + "URLSession would decode it. Use another transport for this server."
        )
    }

    /// Splits `Set-Cookie` fields that were joined by commas; the dates in cookies contain commas too.
    ///
    /// A cookie begins with a name and `=` (RFC 6265, section 4.1.1), unlike the text after the comma in a date.
    private static func cookies(joined value: String) -> [String] {
        var cookies: [String] = []
        for part in value.split(separator: ", ") {
            let name = part.prefix { $0 != "=" && $0 != ";" }
            if let last = cookies.indices.last, name.endIndex == part.endIndex || part[name.endIndex] != "=" {
                cookies[last] += ", \(part)"
            } else {
                cookies.append(String(part))
            }
        }
        return cookies
    }
}
