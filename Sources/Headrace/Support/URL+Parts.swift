import HeadracePlatform

extension URL {
    /// The URL without user and password, fit for messages, events and logs.
    var withoutCredentials: URL {
        let text = absoluteString
        let bare = text.withoutUserInfo
        guard bare != text else { return self }
        // No URL at all rather than one with a password.
        return URL(string: bare) ?? URL(filePath: "/")
    }

    /// The URL without user, password, query and fragment, where signatures may be, for messages that are kept.
    var withoutQuery: String {
        let text = withoutCredentials.absoluteString
        return String(text.prefix { $0 != "?" && $0 != "#" }.prefix(2000)).printable
    }

    var isHTTPS: Bool { scheme?.lowercased() == "https" }

    /// Whether who goes there from another URL leaves https.
    func isDowngrade(from source: URL) -> Bool { source.isHTTPS && !isHTTPS }

    /// The port, where none is written that of the scheme.
    var effectivePort: Int { port ?? (isHTTPS ? 443 : 80) }

    /// Host and port, as in `example.org:443`.
    var server: String { "\(host() ?? ""):\(effectivePort)" }

    /// The user and the password in the URL, decoded; `nil` if both are empty, as in `http://@example.org/`.
    var login: (user: String, password: String)? {
        guard let user = user(percentEncoded: true) else { return nil }
        let password = password(percentEncoded: true) ?? ""
        guard !user.isEmpty || !password.isEmpty else { return nil }
        return (String(utf8OrLatin1: user.utf8.percentDecoded), String(utf8OrLatin1: password.utf8.percentDecoded))
    }

    /// The file's path as the system calls take it.
    var filePath: String { absoluteURL.path(percentEncoded: false) }
}

extension String {
    /// The text of a URL without user and password (RFC 3986, section 3.2.1).
    ///
    /// By its bytes alone, so that no text is too odd for it to be found.
    var withoutUserInfo: String {
        // The search for a sequence takes a hundred times longer than the one for a byte.
        guard has("@"), let start = utf8.firstRange(of: "//".utf8)?.upperBound
        else {
            return self
        }
        let authority = utf8[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return self }
        return String(self[..<start] + self[utf8.index(after: at)...])
    }

    /// A URL as it was typed, with what stands before its last `@` hidden: nobody knows where its password ends.
    package var withoutCredentials: String {
        guard let at = unicodeScalars.lastIndex(of: "@") else { return self }
        let scheme = firstRange(of: "://").map { self[..<$0.upperBound] } ?? ""
        // What is behind the @, or has a colon in it, is no scheme.
        let isScheme = scheme.endIndex <= at && !scheme.dropLast(3).contains { ":@/".contains($0) }
        return (isScheme ? scheme : "") + "***" + self[at...]
    }
}
