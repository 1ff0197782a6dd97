import HeadracePlatform

#if canImport(Headrace)
@testable import Headrace
#endif

/// Properties of challenges, cookies and logins.
extension ParserProperty {
    static func challengeViolation(_ text: String) -> String? {
        let found = Challenge.all(in: text)
        guard found.count <= Challenge.maxCount else { return "too many challenges" }
        let written = found.map { challenge in
            let parameters = challenge.parameters.map { name, value in "\(name)=\(quoted(value))" }
            return "\(challenge.scheme) \(parameters.joined(separator: ", "))"
        }
        for digest in found.compactMap(DigestChallenge.init) {
            let request = DigestChallenge.Request(method: "GET", target: "/", count: 1, clientNonce: "c")
            let field = try? digest.field(user: "u", password: "p", for: request) { _, text throws(DownloadError) in
                Fingerprint(text).description
            }
            let answer = field.flatMap { Challenge.all(in: $0.value).first }
            let challenge = found.first { DigestChallenge($0) == digest }
            for name in ["realm", "nonce", "opaque"] where answer?.parameters[name] != challenge?.parameters[name] {
                return "\(digest) has another \(name) in its answer"
            }
        }
        guard found.allSatisfy({ $0.realm?.unicodeScalars.contains { $0.value < 0x20 } != true }) else {
            return "a realm cannot be shown"
        }
        return Challenge.all(in: written.joined(separator: ", ")) == found
            ? nil : "\(found) is not read back from \(written)"
    }

    static func cookieViolation(_ text: String) -> String? {
        let now: Int64 = 784_111_777
        guard let url = URL(string: "http://a.b.example/x/y"), let place = CookieScope(url) else { return "no place" }
        guard var cookie = Cookie(parsing: text, from: place, at: now) else { return nil }
        guard ["a.b.example", "b.example"].contains(cookie.domain) else {
            return "\(cookie) is not this server's to set"
        }
        guard !cookie.name.isEmpty, cookie.path.hasPrefix("/"), !cookie.isSecure,
            !"\(cookie.name)\(cookie.value)".utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == UInt8(ascii: ";") })
        else { return "\(cookie) cannot be sent" }
        var store = CookieStore()
        store.store([text], from: place, at: now)
        guard store.count == (cookie.expires ?? .max > now ? 1 : 0) else { return "\(cookie) is not kept as it says" }
        cookie.expires = nil
        let domain = cookie.isHostOnly ? "" : "; Domain=\(cookie.domain)"
        let written = "\(cookie.name)=\(cookie.value)\(domain); Path=\(cookie.path)"
        return Cookie(parsing: written, from: place, at: now) == cookie
            ? nil : "\(cookie) is not read back from \(written)"
    }

    static func cookieFileViolation(_ bytes: [UInt8]) -> String? {
        guard let cookies = try? CookieFile.cookies(parsing: bytes) else { return nil }
        var store = CookieStore()
        for cookie in cookies {
            guard !cookie.domain.isEmpty, !cookie.name.isEmpty, cookie.path.hasPrefix("/"),
                !"\(cookie.name)\(cookie.value)".utf8.contains(where: { $0 < 0x20 })
            else { return "\(cookie) cannot be sent" }
            store.insert(cookie, at: 0)
        }
        guard store.count <= cookies.count else { return "too many cookies are kept" }
        func flag(_ isSet: Bool) -> String { isSet ? "TRUE" : "FALSE" }
        let written = cookies.map { cookie in
            [
                ".\(cookie.domain)", flag(!cookie.isHostOnly), cookie.path, flag(cookie.isSecure),
                "\(cookie.expires ?? 0)", cookie.name, cookie.value,
            ].joined(separator: "\t")
        }
        return (try? CookieFile.cookies(parsing: written.joined(separator: "\n").utf8)) == cookies
            ? nil : "\(cookies) is not read back from \(written)"
    }

    /// The input is the contents of a file, or else the value of a field.
    static func hstsViolation(_ bytes: [UInt8]) -> String? {
        guard let url = URL(string: "https://a.b.example/"), let plain = URL(string: "http://x.a.b.example/") else {
            return "no URL"
        }
        var policies = (try? HSTSPolicies(parsing: bytes)) ?? HSTSPolicies()
        let isFile = policies.count > 0
        if !isFile { policies.store(String(utf8OrLatin1: bytes), from: url, at: 0) }
        guard policies.count <= (isFile ? HSTSPolicies.maxCount : 1) else { return "too many hosts" }
        if let upgraded = policies.upgraded(plain, at: 0), !upgraded.isHTTPS { return "\(upgraded) is not https" }
        let written = policies.encoded
        guard written.utf8.count <= HSTSPolicies.maxFileBytes else { return "the file is too large" }
        let read = try? HSTSPolicies(parsing: written.utf8)
        return read?.encoded == written ? nil : "\(policies) is not read back from \(written)"
    }

    static func netrcViolation(_ bytes: [UInt8]) -> String? {
        guard let netrc = try? Netrc(parsing: bytes) else { return nil }
        for host in ["a.b.example", "other"] {
            guard let url = URL(string: "https://\(host)/"), var login = netrc.login(for: url) else { continue }
            login.isDefault = false
            let written = "machine \(host) login \(quoted(login.user)) password \(quoted(login.password))"
            guard (try? Netrc(parsing: written.utf8))?.login(for: url) == login else {
                return "\(login) is not read back from \(written)"
            }
        }
        return nil
    }

    /// Works on bytes, because a quote can combine with the next scalar into one character.
    private static func quoted(_ text: String) -> String {
        let escaped = text.utf8.flatMap { "\\\"".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}
