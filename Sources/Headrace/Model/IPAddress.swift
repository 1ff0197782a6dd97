import HeadracePlatform

/// An address of the internet protocol, version 4 or 6.
///
/// An IPv4-mapped one, as in `::ffff:192.0.2.1`, is the IPv4 address that it stands for: its packets go there.
public struct IPAddress: Sendable, Hashable {
    /// The 4 or 16 bytes in the order of the network.
    public let bytes: [UInt8]

    /// Creates an address from its 4 or 16 bytes in the order of the network; nil for any other number of bytes.
    /// - Parameter bytes: The bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : Array(bytes)
    }

    /// Reads `192.0.2.1` or `2001:db8::1`; nil for any other text, also for one with a zone, a port or brackets.
    /// - Parameter text: The text.
    public init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        // A C string ends at a zero.
        guard !text.utf8.contains(0) else { return nil }
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    /// Reads the host of a URL, where an address of version 6 is between brackets (RFC 3986, section 3.2.2).
    init?(host: String) {
        let isBracketed = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
        self.init(isBracketed ? String(host.dropFirst().dropLast()) : host)
    }

    /// Ten zeros and two ones (RFC 4291, section 2.5.5.2).
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
}

extension IPAddress: CustomStringConvertible {
    /// The address as text, as in `192.0.2.1` or `2001:db8::1`.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// What kind of address it is; one that is translated to IPv4 on the way (RFC 6052, RFC 3056) is of the kind of its end.
extension IPAddress {
    /// True for `127.0.0.0/8` and `::1`: this machine.
    public var isLoopback: Bool { isIn(Self.loopback) }
    /// True for `169.254.0.0/16`, where cloud machines have their metadata, and `fe80::/10` (RFC 3927, RFC 4291).
    public var isLinkLocal: Bool { isIn(Self.linkLocal) }
    /// True for `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` and `fc00::/7` (RFC 1918, RFC 4193).
    public var isPrivate: Bool { isIn(Self.privateUse) }
    /// True for what is reached over the public internet: none of the above, nor any other block set aside (RFC 6890).
    ///
    /// So `0.0.0.0`, which is this machine for many systems, and shared, multicast and reserved addresses are not.
    public var isPublic: Bool {
        let end = end
        return end.bytes.count == 4
            ? !end.isIn(Self.setAsideIPv4)
            : end.isIn([Self.globalUnicast]) && !end.isIn(Self.setAsideIPv6)
    }

    private static let loopback = blocks("127.0.0.0/8", "::1/128")
    private static let linkLocal = blocks("169.254.0.0/16", "fe80::/10")
    private static let privateUse = blocks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    private static let setAsideIPv4 = blocks(
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
    private static let setAsideIPv6 = blocks("2001::/23", "2001:db8::/32", "3fff::/20")
    private static let globalUnicast = Block("2000::/3")
    private static let translated = Block("64:ff9b::/96")
    private static let sixToFour = Block("2002::/16")

    private static func blocks(_ texts: String...) -> [Block] { texts.map(Block.init) }

    /// Where the packets come out, if they are translated to IPv4 by a rule that is in the address.
    private var end: IPAddress {
        if Self.translated.contains(self) { return IPAddress(bytes: bytes.suffix(4)) ?? self }
        if Self.sixToFour.contains(self) { return IPAddress(bytes: bytes[2..<6]) ?? self }
        return self
    }

    private func isIn(_ blocks: [Block]) -> Bool {
        let end = end
        return blocks.contains { $0.contains(end) }
    }
}

extension IPAddress {
    /// All addresses that begin with the same bits.
    struct Block: Sendable, Hashable {
        let first: IPAddress
        let bits: Int

        /// Reads a block as in `10.0.0.0/8`; nil for any other text.
        init?(parsing text: some StringProtocol) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let first = IPAddress(String(parts[0])), let bits = Int64(digits: parts[1]),
                bits <= 8 * first.bytes.count
            else { return nil }
            self.first = first
            self.bits = Int(bits)
        }

        /// - Parameter text: One that is written in this file, so that a wrong one is a programming error.
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
