package import HeadracePlatform

extension URL {
    /// The absolute URL without user, password and fragment, for comparing the URLs of requests.
    var identity: URL {
        let url = absoluteURL.withoutCredentials
        let text = url.absoluteString
        // Not sent to the server (RFC 9110, section 4.2.5).
        guard let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")) else { return url }
        return URL(string: String(text[..<fragment])) ?? url
    }

    /// The URL without user and password, for messages, events and logs.
    package var withoutCredentials: URL {
        let text = absoluteString
        let bare = text.withoutUserInfo
        guard bare != text else { return self }
        // A placeholder is better than a URL with a password.
        return URL(string: bare) ?? URL(filePath: "/")
    }

    /// The URL as text that may be stored or shown: up to 2000 characters, without user, password, query and fragment,
    /// which may contain secrets.
    var withoutQuery: String {
        let text = withoutCredentials.absoluteString
        return String(text.prefix { $0 != "?" && $0 != "#" }.prefix(2000)).printable
    }

    var isHTTPS: Bool {
        let text = absoluteString
        return text.begins(with: "https:") || !text.begins(with: "http:") && scheme?.lowercased() == "https"
    }

    /// Whether a redirect from `source` to this URL leads from https to http.
    func isDowngrade(from source: URL) -> Bool { source.isHTTPS && !isHTTPS }

    /// The port of the URL, or else the default port of its scheme.
    var effectivePort: Int { port ?? (isHTTPS ? 443 : 80) }

    /// The host and port, such as `example.org:443`.
    var server: String {
        guard let range = plainAuthority else {
            let host = host() ?? ""
            return host.contains(":") ? "[\(host)]:\(effectivePort)" : "\(host):\(effectivePort)"
        }
        let server = text(in: range.lowerBound..<range.end)
        return range.hostEnd < range.end ? server : server + (isHTTPS ? ":443" : ":80")
    }

    /// The host in lower case; empty if there is none.
    var lowercasedHost: String {
        plainAuthority.map { text(in: $0.lowerBound..<$0.hostEnd) } ?? host()?.lowercased() ?? ""
    }

    /// The byte offsets in the URL's text at which the host begins and ends, and at which the port after it ends; `nil`
    /// unless this is an http or https URL of a common form.
    ///
    /// In this form, the host is a name in lower case or an IPv4 address, there is no user, the port is missing or a
    /// number from 1 to 65535 without leading zeros, and a slash or nothing follows. Foundation reads these parts
    /// several times slower.
    var plainAuthority: (lowerBound: Int, hostEnd: Int, end: Int)? {
        absoluteString.withBytes { bytes in
            let start = bytes.begins(with: "https://") ? 8 : bytes.begins(with: "http://") ? 7 : bytes.count
            var hostEnd = start
            while hostEnd < bytes.count, bytes[hostEnd].isPlainInHost {
                // The text may have the ASCII form (`xn--`) of a name that the caller wrote with other letters, which
                // only `host()` returns.
                if bytes[hostEnd] == UInt8(ascii: "-"), bytes[hostEnd - 1] == UInt8(ascii: "-") { return nil }
                hostEnd += 1
            }
            guard hostEnd > start else { return nil }
            var end = hostEnd
            if end < bytes.count, bytes[end] == UInt8(ascii: ":") {
                end += 1
                var port = 0
                while end < bytes.count, bytes[end].isDigit, port <= 0xffff {
                    port = port * 10 + Int(bytes[end] - UInt8(ascii: "0"))
                    end += 1
                }
                guard (1...0xffff).contains(port), bytes[hostEnd + 1] != UInt8(ascii: "0") else { return nil }
            }
            return end == bytes.count || bytes[end] == UInt8(ascii: "/") ? (start, hostEnd, end) : nil
        }
    }

    private func text(in range: Range<Int>) -> String {
        absoluteString.withBytes { String(decoding: $0[range], as: UTF8.self) }
    }

    /// The path, at least a slash, and the query, as in a request line (RFC 9112, section 3.2.1).
    var target: String {
        let path = path(percentEncoded: true)
        return (path.isEmpty ? "/" : path) + (query(percentEncoded: true).map { "?\($0)" } ?? "")
    }

    /// The URL without dot segments in its path, as it is requested (RFC 3986, section 5.2.4).
    var withoutDotSegments: URL {
        let mayHaveSome = absoluteString.withBytes { bytes in
            bytes.indices.dropFirst().contains { bytes[$0] == UInt8(ascii: ".") && bytes[$0 - 1] == UInt8(ascii: "/") }
        }
        return mayHaveSome ? standardized : self
    }

    /// The user and the password in the URL, decoded; `nil` if it has neither, or only empty ones as in
    /// `http://@example.org/`.
    var login: (user: String, password: String)? {
        guard let user = user(percentEncoded: true) else { return nil }
        let password = password(percentEncoded: true) ?? ""
        guard !user.isEmpty || !password.isEmpty else { return nil }
        return (String(utf8OrLatin1: user.utf8.percentDecoded), String(utf8OrLatin1: password.utf8.percentDecoded))
    }

    /// The decoded path of a file URL, for system calls; empty if it is not UTF-8.
    var filePath: String { unescapedPath ?? absoluteURL.path(percentEncoded: false) }

    /// The path of a file URL without a host and without escapes; `nil` for other URLs.
    private var unescapedPath: String? {
        isUnescapedFile ? absoluteString.withBytes { String(decoding: $0.dropFirst(7), as: UTF8.self) } : nil
    }

    private var isUnescapedFile: Bool {
        let text = absoluteString
        return text.begins(with: "file:///") && !text.has("%") && !text.has("?") && !text.has("#")
    }

    /// The reason why the URL names no file of this machine, such as "is not a file URL"; `nil` if it names one.
    ///
    /// A path with a zero byte is rejected: a system call would end the path there, and so use another file.
    var fileFault: String? {
        guard !isUnescapedFile else { return nil }
        guard isFileURL else { return "is not a file URL" }
        guard ["", "localhost"].contains(host() ?? "") else { return "names a file of another machine" }
        let path = filePath
        guard !path.isEmpty else { return "has no path in UTF-8" }
        return path.utf8.contains(0) ? "has a path with a zero byte" : nil
    }
}

extension UInt8 {
    /// Whether the byte is a lower-case letter, a digit, a dot or a hyphen.
    fileprivate var isPlainInHost: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || isDigit || self == UInt8(ascii: ".")
            || self == UInt8(ascii: "-")
    }
}

extension String {
    /// The text of a URL without user and password (RFC 3986, section 3.2.1).
    ///
    /// Works on bytes alone, so that user and password are found in malformed text too.
    var withoutUserInfo: String {
        // Searching for a sequence takes a hundred times longer than searching for a byte.
        guard has("@"), let start = utf8.firstRange(of: "//".utf8)?.upperBound
        else {
            return self
        }
        let authority = utf8[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return self }
        return String(self[..<start] + self[utf8.index(after: at)...])
    }

    /// The text of a typed URL with `***` in place of the user and password.
    ///
    /// Replaces everything between the scheme and the last `@`, since a password may contain `@` too.
    package var withoutCredentials: String {
        guard let at = unicodeScalars.lastIndex(of: "@") else { return self }
        let scheme = firstRange(of: "://").map { self[..<$0.upperBound] } ?? ""
        // A `://` after the last `@` does not end a scheme, and a scheme contains no colon, `@` or slash.
        let isScheme = scheme.endIndex <= at && !scheme.dropLast(3).contains { ":@/".contains($0) }
        return (isScheme ? scheme : "") + "***" + self[at...]
    }
}
