import HeadracePlatform

/// The hosts that are requested only over https (HSTS, RFC 6797); performs no I/O and reads no clock.
///
/// All times are in seconds since 1970.
struct HSTSPolicies: Sendable, Hashable {
    /// The usual maximum number of hosts; see ``capacity``.
    ///
    /// A further host replaces the host whose policy ends first.
    static let maxCount = 3000
    /// The maximum length of a host name in bytes (RFC 1035, section 2.3.4).
    private static let maxHostBytes = 253
    /// The last second of the year 9999, in seconds since 1970; a policy that ends later is stored as unlimited.
    private static let lastEnd: Int64 = 253_402_300_799
    /// The maximum size of a file in bytes, which suffices for about 30,000 hosts.
    static let maxFileBytes = 1 << 20

    /// The policy of one host.
    private struct Policy: Sendable, Hashable {
        var includesSubdomains: Bool
        /// The end, in seconds since 1970; `Int64.max` for none.
        var end: Int64
    }

    /// The policies by host, in lower case and without a dot at the end.
    private var policies: [String: Policy] = [:]
    /// The maximum number of hosts: ``maxCount``, or the number of hosts in the file if that is greater.
    private var capacity = HSTSPolicies.maxCount
    /// The hosts whose policies were set or removed by responses since the last save.
    private(set) var changed: Set<String> = []

    init() {}

    var count: Int { policies.count }

    /// Whether a response has changed a policy that is not saved yet.
    var hasChanges: Bool { !changed.isEmpty }

    /// Applies the unsaved changes of `other` to these policies, then drops expired ones.
    mutating func adoptChanges(of other: HSTSPolicies, at now: Int64) {
        for host in other.changed {
            policies[host] = other.policies[host]
        }
        policies = policies.filter { $0.value.end > now }
    }

    /// Records that `earlier`, a previous copy of these policies, was saved; changes made since then remain unsaved.
    mutating func saved(_ earlier: HSTSPolicies) {
        changed = changed.filter { !earlier.changed.contains($0) || policies[$0] != earlier.policies[$0] }
    }

    /// Applies the value of a `Strict-Transport-Security` field (RFC 6797, section 8.1); ignores it if it is malformed,
    /// if the response came over http, or if the host is an IP address.
    mutating func store(_ field: String, from url: URL, at now: Int64) {
        guard url.isHTTPS, let host = Self.host(of: url), let directives = Directives(parsing: field) else { return }
        changed.insert(host)
        // Without a file, no save empties the set, so hosts without a policy are dropped from it here.
        if changed.count > 2 * Self.maxCount { changed = changed.filter { policies[$0] != nil } }
        guard directives.maxAge > 0 else {
            policies[host] = nil
            return
        }
        let end = directives.maxAge > Self.lastEnd - now ? .max : now + directives.maxAge
        insert(Policy(includesSubdomains: directives.includesSubdomains, end: end), of: host, at: now)
    }

    /// Returns the https URL that replaces an http URL of a known host (RFC 6797, section 8.3); otherwise `nil`.
    func upgraded(_ url: URL, at now: Int64) -> URL? {
        guard url.scheme?.lowercased() == "http", let host = Self.host(of: url), isKnown(host, at: now),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        parts.scheme = "https"
        // Other ports remain, even if the server does not use TLS there.
        if parts.port == 80 { parts.port = nil }
        return parts.url
    }

    private func isKnown(_ host: String, at now: Int64) -> Bool {
        if let policy = policies[host], policy.end > now { return true }
        return host.indices.contains { index in
            guard host[index] == ".", let policy = policies[String(host[host.index(after: index)...])] else {
                return false
            }
            return policy.includesSubdomains && policy.end > now
        }
    }

    private mutating func insert(_ policy: Policy, of host: String, at now: Int64) {
        policies[host] = policy
        guard policies.count > capacity else { return }
        policies = policies.filter { $0.value.end > now }
        let others = policies.lazy.filter { $0.key != host }
        guard policies.count > capacity, let first = others.min(by: { $0.value.end < $1.value.end }) else { return }
        policies[first.key] = nil
        // Not recorded as a change, since saving it would remove the host from the file as well.
        changed.remove(first.key)
    }

    /// Returns the canonical host of a URL (RFC 6797, section 8.2); `nil` if there is none, or if it is an IP address.
    private static func host(of url: URL) -> String? { url.host(percentEncoded: false).flatMap(host) }

    /// Returns a host name in lower case and without the dot at its end; `nil` if the text is not a host name.
    private static func host(_ text: String) -> String? {
        var host = text.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        let isName = host.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
        guard isName, (1...maxHostBytes).contains(host.utf8.count), !host.hasPrefix("."), !host.hasSuffix("."),
            IPAddress(host) == nil
        else { return nil }
        return host
    }
}

extension HSTSPolicies {
    /// The directives of a `Strict-Transport-Security` field (RFC 6797, section 6.1).
    private struct Directives {
        private(set) var maxAge: Int64
        private(set) var includesSubdomains: Bool

        /// Parses a field; `nil` if it is malformed, repeats a directive, or lacks `max-age`.
        init?(parsing text: String) {
            var values: [String: String] = [:]
            var text = FieldScanner(text)
            repeat {
                text.skipBlanks()
                let name = text.token().lowercased()
                text.skipBlanks()
                var value = ""
                if text.skip("=") {
                    text.skipBlanks()
                    value = text.skip("\"") ? text.quoted() : String(text.token())
                    text.skipBlanks()
                }
                guard text.isAtEnd || text.next == UInt8(ascii: ";"), !name.isEmpty || value.isEmpty else { return nil }
                guard name.isEmpty || values.updateValue(value, forKey: name) == nil else { return nil }
            } while text.skip(";")
            guard let digits = values["max-age"], !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
            maxAge = Int64(digits) ?? .max
            includesSubdomains = values["includesubdomains"] != nil
        }
    }
}

/// The file format of curl, in which a dot before a host stands for its subdomains.
extension HSTSPolicies {
    /// Parses a file.
    /// - Throws: `invalidRequest` with the number of the first line that is malformed.
    init(parsing bytes: some Sequence<UInt8>) throws(DownloadError) {
        var number = 0
        for line in Array(bytes).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let text = Substring(String(utf8OrLatin1: line)).trimmed
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            let parts = text.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
            guard parts.count == 2, let end = Self.end(parts[1].trimmed),
                let host = Self.host(String(parts[0].hasPrefix(".") ? parts[0].dropFirst() : parts[0]))
            else {
                throw DownloadError(
                    .invalidRequest,
                    "Line \(number) of the file is not a host: expected a name, and the time \"YYYYMMDD HH:MM:SS\" or \"unlimited\"."
                )
            }
            policies[host] = Policy(includesSubdomains: parts[0].hasPrefix("."), end: end)
        }
        capacity = max(capacity, policies.count)
    }

    private static func end(_ text: Substring) -> Int64? {
        var text = FieldScanner(String(text))
        guard text.skip("\"") else { return nil }
        if text.skip("unlimited\"") { return text.isAtEnd ? .max : nil }
        guard let year = text.number(4), let month = text.number(2), (1...12).contains(month),
            let day = text.number(2), text.skip(" "), let time = text.time(), text.skip("\""), text.isAtEnd
        else { return nil }
        let end = HTTPDate(year: year, month: month - 1, day: day, time: time)?.seconds
        return end.map { $0 > lastEnd ? .max : $0 }
    }

    /// The contents of a file, with the hosts in alphabetical order.
    ///
    /// If the file would be larger than ``maxFileBytes``, the hosts whose policies end first are omitted.
    var encoded: String {
        let head = "# Hosts that are requested over https alone (HSTS), in the format of curl.\n"
        var room = Self.maxFileBytes - head.utf8.count
        var lines: [(host: String, line: String)] = []
        for (host, policy) in policies.sorted(by: { $0.value.end > $1.value.end }) {
            let line = "\(policy.includesSubdomains ? "." : "")\(host) \"\(Self.text(ofEnd: policy.end))\"\n"
            room -= line.utf8.count
            guard room >= 0 else { break }
            lines.append((host, line))
        }
        return head + lines.sorted { $0.host < $1.host }.map(\.line).joined()
    }

    private static func text(ofEnd end: Int64) -> String {
        guard end <= lastEnd else { return "unlimited" }
        var seconds = time_t(end)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [
            (parts.tm_year + 1900).padded(to: 4), (parts.tm_mon + 1).padded(to: 2), parts.tm_mday.padded(to: 2),
        ]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0.padded(to: 2) }
        return "\(date.joined()) \(time.joined(separator: ":"))"
    }
}
