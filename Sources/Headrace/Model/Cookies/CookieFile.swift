/// Reads cookie files in the Netscape format, which curl, wget and browser extensions write.
enum CookieFile {
    /// Parses the contents of a file, one cookie per line.
    ///
    /// Throws `invalidRequest` with the number of the first invalid line, but without its text, which may be secret.
    static func cookies(parsing bytes: some Sequence<UInt8>) throws(DownloadError) -> [Cookie] {
        var cookies: [Cookie] = []
        var number = 0
        let bytes = Array(bytes).withoutByteOrderMark
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            var text = String(utf8OrLatin1: line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
            let mark = "#HttpOnly_"
            if text.hasPrefix(mark) { text.removeFirst(mark.count) }
            guard !text.hasPrefix("#"), !text[...].trimmed.isEmpty else { continue }
            guard let cookie = cookie(text) else {
                throw DownloadError(
                    .invalidRequest,
                    "Line \(number) of the file is not a cookie: expected domain, TRUE or FALSE, path, TRUE or FALSE, seconds, "
                        + "name and value, separated by tabs."
                )
            }
            cookies.append(cookie)
        }
        return cookies
    }

    private static func cookie(_ line: String) -> Cookie? {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard (6...7).contains(parts.count), let isForBelow = flag(parts[1]), let isSecure = flag(parts[3]),
            // Some programs write fractions of a second, and -1 for a session cookie.
            let expires = parts[4] == "-1" ? 0 : Int64(digits: parts[4].prefix { $0 != "." }),
            parts[2].hasPrefix("/"), !parts[5].isEmpty,
            !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f })
        else { return nil }
        let domain = Cookie.domain(parts[0])
        let hasDotInFront = domain != parts[0].lowercased()
        guard !domain.isEmpty, !isForBelow || Cookie.hasDot(domain) || !hasDotInFront else { return nil }
        return Cookie(
            name: parts[5],
            value: parts.count == 7 ? parts[6] : "",
            domain: domain,
            isHostOnly: !isForBelow || !Cookie.hasDot(domain),
            path: parts[2],
            isSecure: isSecure,
            expires: expires == 0 ? nil : expires
        )
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }
}
