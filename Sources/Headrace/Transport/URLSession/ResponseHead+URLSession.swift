import HeadracePlatform

extension ResponseHead {
    /// The fields that `URLSession` tells of an answer, one value for each name.
    ///
    /// On Apple platforms it calls a body that came in chunks, and which it has put together, one of the coding `Identity`.
    static func fields(_ all: [AnyHashable: Any]) -> [String: String] {
        var fields: [String: String] = [:]
        for case (let name as String, let value as String) in all {
            let isDecoded = name.lowercased() == "transfer-encoding" && value.lowercased() == "identity"
            fields[name] = isDecoded ? "chunked" : value
        }
        return fields
    }

    /// Reads the head that `URLSession` made of a server's: one value for each name, those of several fields joined.
    ///
    /// Throws where a server sent more than it may, and where `URLSession` would not deliver the bytes that it sent.
    init(url: URL, status: Int, joined fields: [String: String]) throws(DownloadError) {
        guard (200...599).contains(status) else {
            throw DownloadError(.protocolViolation, "The answer has the status \(status), which HTTP does not have.")
        }
        let bytes = fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard fields.count <= ResponseHeadParser.maxFields, bytes <= ResponseHeadParser.maxBytes else {
            throw DownloadError(
                .protocolViolation,
                "The response header has \(fields.count) fields of \(bytes) bytes, which is too much."
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
            "The server sent the file with the coding \(coding.printable), although only identity was asked for, and "
                + "URLSession would decode it. Take another transport for this server."
        )
    }

    /// The cookies of several `Set-Cookie` fields that were joined by commas, as a date in one of them has too.
    ///
    /// A cookie begins with its name and `=` (RFC 6265, section 4.1.1), which what follows the comma of a date does not.
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
