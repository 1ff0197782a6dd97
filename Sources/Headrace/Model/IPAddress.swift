import HeadracePlatform

/// An IPv4 or IPv6 address.
///
///     configuration.allowsAddress = { address in address.isPublic }
///
/// An IPv4-mapped IPv6 address, such as `::ffff:192.0.2.1`, is converted to the IPv4 address in it, because that is
/// where the system sends the packets.
public struct IPAddress: Sendable, Hashable {
    /// The 4 or 16 bytes in network order.
    public let bytes: [UInt8]

    /// Creates an address from its bytes in network order; `nil` unless there are 4 or 16.
    /// - Parameter bytes: The 4 bytes of an IPv4 address, or the 16 bytes of an IPv6 address.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : Array(bytes)
    }

    /// Parses `192.0.2.1` or `2001:db8::1`; `nil` for any other text, including one with a zone, a port or brackets.
    /// - Parameter text: The address as text.
    public init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        // inet_pton would stop at a zero byte.
        guard !text.utf8.contains(0) else { return nil }
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    /// Parses the host of a URL, with or without the brackets of an IPv6 address; `nil` if the host is not an address.
    init?(host: String) {
        let isBracketed = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
        self.init(isBracketed ? String(host.dropFirst().dropLast()) : host)
    }

    /// The prefix of IPv4-mapped addresses (RFC 4291, section 2.5.5.2).
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
}

extension IPAddress: CustomStringConvertible {
    /// The address as text, such as `192.0.2.1` or `2001:db8::1`.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// The scope of an address.
///
/// An IPv6 address that embeds an IPv4 address (RFC 6052, RFC 3056) has the scope of that IPv4 address.
extension IPAddress {
    /// Whether the address refers to this machine: `127.0.0.0/8` or `::1`.
    public var isLoopback: Bool { isContained(in: Self.loopback) }
    /// Whether the address is link-local: `169.254.0.0/16`, which includes cloud metadata services, or `fe80::/10` (RFC
    /// 3927, RFC 4291).
    public var isLinkLocal: Bool { isContained(in: Self.linkLocal) }
    /// Whether the address is private: `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` or `fc00::/7` (RFC 1918, RFC
    /// 4193).
    public var isPrivate: Bool { isContained(in: Self.privateUse) }
    /// Whether the address is on the public internet: not loopback, link-local or private, nor in any other
    /// special-purpose block (RFC 6890).
    ///
    /// This is `false` for `0.0.0.0`, which many systems treat as this machine, and for shared, multicast and reserved
    /// addresses.
    public var isPublic: Bool {
        let address = effective
        return address.bytes.count == 4
            ? !address.isContained(in: Self.specialPurposeIPv4)
            : address.isContained(in: [Self.globalUnicast]) && !address.isContained(in: Self.specialPurposeIPv6)
    }

    private static let loopback = blocks("127.0.0.0/8", "::1/128")
    private static let linkLocal = blocks("169.254.0.0/16", "fe80::/10")
    private static let privateUse = blocks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    private static let specialPurposeIPv4 = blocks(
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4"
    )
    private static let specialPurposeIPv6 = blocks("2001::/23", "2001:db8::/32", "3fff::/20")
    private static let globalUnicast = Block("2000::/3")
    private static let translated = Block("64:ff9b::/96")
    private static let sixToFour = Block("2002::/16")

    private static func blocks(_ texts: String...) -> [Block] { texts.map(Block.init) }

    /// The IPv4 address that is embedded in this IPv6 address, if any; otherwise the address itself.
    private var effective: IPAddress {
        if Self.translated.contains(self) { return IPAddress(bytes: bytes.suffix(4)) ?? self }
        if Self.sixToFour.contains(self) { return IPAddress(bytes: bytes[2..<6]) ?? self }
        return self
    }

    private func isContained(in blocks: [Block]) -> Bool {
        let address = effective
        return blocks.contains { $0.contains(address) }
    }
}

extension IPAddress {
    /// A block of addresses with a common prefix (CIDR).
    struct Block: Sendable, Hashable {
        let first: IPAddress
        let bits: Int

        /// Parses a block such as `10.0.0.0/8`; `nil` for any other text.
        init?(parsing text: some StringProtocol) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let first = IPAddress(String(parts[0])), let bits = Int64(digits: parts[1]),
                bits <= 8 * first.bytes.count
            else { return nil }
            self.first = first
            self.bits = Int(bits)
        }

        /// Creates a block from a literal in this file; an invalid literal is a programming error.
        fileprivate init(_ text: String) {
            guard let block = Block(parsing: text) else { preconditionFailure("Not a block of addresses: \(text)") }
            self = block
        }

        func contains(_ address: IPAddress) -> Bool {
            guard address.bytes.count == first.bytes.count else { return false }
            return zip(address.bytes, first.bytes).enumerated().allSatisfy { index, pair in
                let shared = min(max(bits - 8 * index, 0), 8)
                return (pair.0 ^ pair.1) & ~UInt8(0xff >> shared) == 0
            }
        }
    }
}
