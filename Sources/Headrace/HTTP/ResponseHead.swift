package import HeadracePlatform

/// The status and the header fields of an answer (RFC 9110, sections 6 and 15).
package struct ResponseHead: Sendable, Hashable {
    /// The URL that was asked.
    package let url: URL
    /// The status code, from 200 to 599, or 101, which nobody asked for: other interim answers are not reported.
    package let status: Int
    /// The header fields in the order in which they came.
    package var fields: [HeaderField] {
        didSet { keys = fields.map { Self.key(of: $0.name) } }
    }
    /// True for HTTP/2 and later, whose streams mark their own end.
    package let isMultiplexed: Bool
    /// Of a 401, the scheme in lower case of the login that the request was sent with; nil where it had none.
    var refusedLogin: String?
    /// The manager's own login that the request was sent with; `nil` if it had none, or one of its own.
    var login: Credential?
    /// When the response was received, by the clock of this machine; `nil` if the transport did not record it.
    var receivedAt: HTTPDate?
    /// What tells most names from each other, of each field, since a verdict looks up a dozen of them.
    private var keys: [Int]

    /// Creates a head.
    /// - Parameters:
    ///   - url: The URL that was asked.
    ///   - status: The status code.
    ///   - fields: The header fields.
    ///   - isMultiplexed: True for HTTP/2 and later.
    package init(url: URL, status: Int, fields: [HeaderField] = [], isMultiplexed: Bool = false) {
        self.url = url
        self.status = status
        self.fields = fields
        self.isMultiplexed = isMultiplexed
        keys = fields.map { Self.key(of: $0.name) }
    }

    /// The values of all fields of that name, in order; `name` is in lower case.
    func values(_ name: String) -> [String] {
        let key = Self.key(of: name)
        var values: [String] = []
        for index in keys.indices where keys[index] == key && fields[index].name.lowercased() == name {
            values.append(fields[index].value)
        }
        return values
    }

    /// The length, the first and the last letter, without regard to case.
    private static func key(of name: String) -> Int {
        name.withBytes { bytes in
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            return bytes.count << 16 | Int(first | 0x20) << 8 | Int(last | 0x20)
        }
    }

    /// The values of the fields of that name, as far as so many bytes in all go.
    func values(_ name: String, maxBytes: Int) -> ArraySlice<String> {
        var rest = maxBytes
        return values(name).prefix { value in
            rest -= value.utf8.count
            return rest >= 0
        }
    }

    /// The members in lower case of all fields of that name, which are lists (RFC 9110, section 5.6.1).
    func members(_ name: String) -> [String] {
        var members: [String] = []
        for value in values(name) {
            for member in value.members where !member.isEmpty { members.append(member.lowercased()) }
        }
        return members
    }

    /// Whether a body with this status is the file, or a part of it.
    var carriesFile: Bool { [200, 203, 206].contains(status) }

    /// True where only the close of a TLS connection ends the body (RFC 9112, section 9.8).
    var endsWithTLSConnection: Bool {
        guard url.isHTTPS, carriesFile else { return false }
        return (try? BodyFraming(of: self)) == .unverified
    }

    /// The only value of a field of that name; several that differ are an error (RFC 9110, section 5.3).
    func value(_ name: String) throws(DownloadError) -> String? {
        let values = values(name)
        guard values.allSatisfy({ $0 == values.first }) else {
            throw DownloadError(.protocolViolation, "The server sent \(values.count) different \(name) fields.")
        }
        return values.first
    }
}
