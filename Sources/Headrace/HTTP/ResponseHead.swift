package import HeadracePlatform

/// The status and the header fields of a response (RFC 9110, sections 6 and 15).
package struct ResponseHead: Sendable, Hashable {
    /// The URL that was requested.
    package let url: URL
    /// The status code, from 200 to 999, or 101; other 1xx responses are skipped.
    ///
    /// A 101 is unexpected, because the library never requests a protocol upgrade. No code above 599 is valid, but some
    /// servers send one to reject a request (RFC 9110, section 15).
    package let status: Int
    /// The header fields in the order received.
    package var fields: [HeaderField] {
        didSet { keys = fields.map { Self.key(of: $0.name) } }
    }
    /// Whether the protocol is HTTP/2 or later, in which the end of the stream marks the end of the body.
    package let isMultiplexed: Bool
    /// Whether the connection may carry other responses at the same time.
    package var sharesConnection: Bool
    /// Whether the request must be sent again on a connection of its own; the body was not received.
    ///
    /// The request could not share a connection, or the body is too large to share one.
    package var needsOwnConnection = false
    /// The authentication scheme, in lower case, of the login that a 401 rejected; `nil` if no login was rejected.
    var refusedLogin: String?
    /// The manager's credential that was sent with the request; `nil` if there was none.
    ///
    /// Also `nil` if the request had an `Authorization` field of its own. The server may have selected the file by this
    /// credential.
    var login: Credential?
    /// The checksum that the first redirect announced for the file; `nil` if there was none.
    var linkedDigest: Checksum?
    /// The content codings that can be removed from the file once it is complete; `nil` if the request accepted none.
    var decodable: Set<ContentCoding>?
    /// The time of receipt by the clock of this machine; `nil` if the transport did not record it.
    var receivedAt: HTTPDate?
    /// The round-trip time of the connection; `nil` if the transport does not know it.
    package var roundTrip: Duration?
    /// A cheap hash of each field's name, which speeds up the dozen lookups that each response needs.
    private var keys: [Int]

    /// Creates the head of a received response.
    /// - Parameters:
    ///   - url: The URL that was requested.
    ///   - status: The status code.
    ///   - fields: The header fields.
    ///   - isMultiplexed: Whether the protocol is HTTP/2 or later.
    package init(url: URL, status: Int, fields: [HeaderField] = [], isMultiplexed: Bool = false) {
        self.url = url
        self.status = status
        self.fields = fields
        self.isMultiplexed = isMultiplexed
        sharesConnection = isMultiplexed
        keys = fields.indices.map { Self.key(of: fields[$0].name) }
    }

    /// Creates the head that stands for the missing response to a request that could not share a connection.
    package static func needingOwnConnection(_ url: URL) -> ResponseHead {
        // 421 Misdirected Request: the client may use another connection (RFC 9110, section 15.5.20).
        var head = ResponseHead(url: url, status: 421)
        head.needsOwnConnection = true
        return head
    }

    /// Returns the values of all fields with a name, in order; `name` must be in lower case.
    func values(_ name: String) -> [String] {
        let key = Self.key(of: name)
        var values: [String] = []
        for index in keys.indices where keys[index] == key && fields[index].name.hasBytes(ofLowercased: name) {
            values.append(fields[index].value)
        }
        return values
    }

    /// Returns the value of the only field with a name; `nil` if there are none or several.
    func onlyValue(_ name: String) -> String? {
        let key = Self.key(of: name)
        var only: Int?
        for index in keys.indices where keys[index] == key && fields[index].name.hasBytes(ofLowercased: name) {
            guard only == nil else { return nil }
            only = index
        }
        return only.map { fields[$0].value }
    }

    /// Returns `false` if no field has a name with one of these keys, and `true` if a field may have one.
    ///
    /// Different names can have the same key, so a field with the key may have another name.
    func mayHaveField(_ names: [Int]) -> Bool { keys.contains { names.contains($0) } }

    /// Returns a hash of the length, first letter and last letter of a field name, ignoring case.
    static func key(of name: String) -> Int {
        name.withBytes { bytes in
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            return bytes.count << 16 | Int(first | 0x20) << 8 | Int(last | 0x20)
        }
    }

    /// Like ``values(_:)``, but returns only the first values, up to `maxBytes` bytes in total.
    func values(_ name: String, maxBytes: Int) -> ArraySlice<String> {
        var rest = maxBytes
        return values(name).prefix { value in
            rest -= value.utf8.count
            return rest >= 0
        }
    }

    /// Returns the list members, in lower case, of all fields with this lower-case name (RFC 9110, section 5.6.1).
    func members(_ name: String) -> [String] {
        var members: [String] = []
        for value in values(name) {
            for member in value.members where !member.isEmpty { members.append(member.lowercased()) }
        }
        return members
    }

    /// Whether the body of a response with this status is the file or a part of it.
    var carriesFile: Bool { [200, 203, 206].contains(status) }

    /// Whether the body is the file and may have more than this number of bytes, so that it must not share a
    /// connection.
    func isTooLargeToShare(maxBytes: Int64) -> Bool {
        guard carriesFile else { return false }
        guard case .length(let length)? = try? BodyFraming(of: self) else { return true }
        return length > maxBytes
    }

    /// Whether only the close of a TLS connection marks the end of the body (RFC 9112, section 9.8).
    var endsWithTLSConnection: Bool {
        guard url.isHTTPS, carriesFile else { return false }
        return (try? BodyFraming(of: self)) == .unverified
    }

    /// Returns the value of a field, or `nil` if it is missing.
    ///
    /// Throws `protocolViolation` if the field occurs with different values (RFC 9110, section 5.3).
    func value(_ name: String) throws(DownloadError) -> String? {
        let values = values(name)
        guard values.allSatisfy({ $0 == values.first }) else {
            throw DownloadError(.protocolViolation, "The server sent \(values.count) different \(name) fields.")
        }
        return values.first
    }
}
