/// A message from the kernel about links, addresses or routes (rtnetlink(7)), parsed from untrusted bytes.
///
/// Routes other than default routes of the main table are skipped.
enum NetlinkMessage: Sendable, Hashable {
    struct Link: Sendable, Hashable {
        var index: Int32
        /// The name of the interface, which is safe as a path component.
        var name: String
        /// Whether the interface is enabled.
        var isUp: Bool
        /// Whether the interface is enabled and its cable or radio is connected.
        var isRunning: Bool
        var isLoopback: Bool
        /// Whether the system presents the interface as Ethernet; that includes Wi-Fi.
        var isEthernet: Bool
        var isBridge: Bool
    }

    struct Address: Sendable, Hashable {
        var index: Int32
        var address: IPAddress
        /// Whether the address is usable: duplicate address detection is not running and has not failed.
        var isUsable: Bool
    }

    struct Route: Sendable, Hashable {
        var isIPv6: Bool
        /// The indices of the route's links; more than one for a multipath route.
        var links: [Int32]
        var metric: UInt32
        var gateway: [UInt8]
    }

    case link(Link)
    case linkGone(Int32)
    case address(Address)
    case addressGone(Address)
    /// A route was added; `replaces` is `true` if the route replaces existing routes of the same family and metric.
    case route(Route, replaces: Bool)
    case routeGone(Route)
    /// The response to the request with this number is complete.
    ///
    /// `isWhole` is `false` if the data changed while the kernel sent it.
    case done(UInt32, isWhole: Bool)
    /// The request with this number failed with this `errno`.
    case refused(UInt32, errno: Int32)

    /// Parses the messages of one read; skips invalid messages and other kinds, and stops at an invalid length.
    static func all(in bytes: [UInt8]) -> [NetlinkMessage] {
        var rest = NetlinkBytes(bytes[...])
        var messages: [NetlinkMessage] = []
        while let length = rest.integer(UInt32.self, at: 0), length >= headerBytes,
            let message = rest.part(from: 0, count: Int(length))
        {
            if let message = NetlinkMessage(message) { messages.append(message) }
            rest = rest.dropping(Int(length))
        }
        return messages
    }

    private static let headerBytes = 16

    private init?(_ message: NetlinkBytes) {
        guard let kind = message.integer(UInt16.self, at: 4), let flags = message.integer(UInt16.self, at: 6),
            let sequence = message.integer(UInt32.self, at: 8)
        else { return nil }
        let body = message.dropping(Self.headerBytes)
        switch kind {
        case 2:  // NLMSG_ERROR
            guard let error = body.integer(Int32.self, at: 0), error < 0, error != .min else { return nil }
            self = .refused(sequence, errno: -error)
        case 3:  // NLMSG_DONE
            let wasInterrupted = flags & 0x10 != 0  // NLM_F_DUMP_INTR
            self = .done(sequence, isWhole: !wasInterrupted)
        case 16, 17:  // RTM_NEWLINK, RTM_DELLINK
            guard let link = Link(body) else { return nil }
            self = kind == 16 ? .link(link) : .linkGone(link.index)
        case 20, 21:  // RTM_NEWADDR, RTM_DELADDR
            guard let address = Address(body) else { return nil }
            self = kind == 20 ? .address(address) : .addressGone(address)
        case 24, 25:  // RTM_NEWROUTE, RTM_DELROUTE
            guard let route = Route(body) else { return nil }
            let replaces = flags & 0x100 != 0  // NLM_F_REPLACE
            self = kind == 24 ? .route(route, replaces: replaces) : .routeGone(route)
        default: return nil
        }
    }
}

extension NetlinkMessage.Link {
    fileprivate init?(_ body: NetlinkBytes) {
        guard let family = body.integer(UInt8.self, at: 0), let hardware = body.integer(UInt16.self, at: 2),
            let index = body.integer(Int32.self, at: 4), let flags = body.integer(UInt32.self, at: 8),
            // Messages of the family AF_BRIDGE describe the ports of a bridge.
            family == 0
        else { return nil }
        let attributes = body.dropping(16).attributes()
        guard let name = attributes[3]?.text, Self.isName(name) else { return nil }  // IFLA_IFNAME
        self.index = index
        self.name = name
        isUp = flags & 0x1 != 0  // IFF_UP
        isRunning = flags & 0x40 != 0  // IFF_RUNNING
        isLoopback = flags & 0x8 != 0  // IFF_LOOPBACK
        isEthernet = hardware == 1  // ARPHRD_ETHER
        // IFLA_INFO_KIND inside IFLA_LINKINFO.
        isBridge = attributes[18]?.attributes()[1]?.text == "bridge"
    }

    /// Whether the text is a valid interface name by the kernel's rule (`dev_valid_name`).
    static func isName(_ name: String) -> Bool {
        (1...15).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") }
    }
}

extension NetlinkMessage.Address {
    /// Parses an address; `nil` if it is invalid, a temporary IPv6 address (RFC 8981) or a secondary IPv4 address.
    ///
    /// Temporary and secondary addresses may expire while the network stays. Each of them accompanies another address
    /// of its network.
    fileprivate init?(_ body: NetlinkBytes) {
        guard let flags = body.integer(UInt8.self, at: 2), let index = body.integer(Int32.self, at: 4) else {
            return nil
        }
        let attributes = body.dropping(8).attributes()
        // IFA_LOCAL; IFA_ADDRESS is the address of the peer if there is one.
        guard let bytes = attributes[2] ?? attributes[1], let address = IPAddress(bytes: bytes.bytes) else {
            return nil
        }
        // IFA_FLAGS is the wider form of the header's flags.
        let allFlags = attributes[8]?.integer(UInt32.self, at: 0) ?? UInt32(flags)
        guard allFlags & 0x1 == 0 else { return nil }  // IFA_F_TEMPORARY, IFA_F_SECONDARY
        self.index = index
        self.address = address
        isUsable = allFlags & 0x48 == 0  // IFA_F_DADFAILED | IFA_F_TENTATIVE
    }
}

extension NetlinkMessage.Route {
    fileprivate init?(_ body: NetlinkBytes) {
        guard let family = body.integer(UInt8.self, at: 0), let destinationBits = body.integer(UInt8.self, at: 1),
            let table = body.integer(UInt8.self, at: 4), let kind = body.integer(UInt8.self, at: 7),
            family == 2 || family == 10,  // AF_INET, AF_INET6
            destinationBits == 0, kind == 1  // RTN_UNICAST
        else { return nil }
        let attributes = body.dropping(12).attributes()
        let mainTable: UInt32 = 254
        // RTA_TABLE is the wider form of the header's table number.
        guard attributes[15]?.integer(UInt32.self, at: 0) ?? UInt32(table) == mainTable else { return nil }
        isIPv6 = family == 10
        metric = attributes[6]?.integer(UInt32.self, at: 0) ?? 0  // RTA_PRIORITY
        gateway = Array((attributes[5] ?? attributes[18])?.bytes ?? [])  // RTA_GATEWAY, RTA_VIA
        if let link = attributes[4]?.integer(Int32.self, at: 0) {  // RTA_OIF
            links = [link]
        } else {
            links = attributes[9]?.hops() ?? []  // RTA_MULTIPATH
        }
        guard !links.isEmpty else { return nil }
    }
}

/// Bytes in the kernel's format, with bounds-checked access.
struct NetlinkBytes: Sendable {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// Returns the integer at an offset, in this machine's byte order; `nil` if it would extend beyond the end.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, at offset: Int) -> Number? {
        bytes.withUnsafeBytes { bytes in
            guard offset >= 0, offset + MemoryLayout<Number>.size <= bytes.count else { return nil }
            return bytes.loadUnaligned(fromByteOffset: offset, as: type)
        }
    }

    /// Returns `count` bytes from an offset; `nil` if there are fewer.
    func part(from offset: Int, count: Int) -> NetlinkBytes? {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else { return nil }
        let start = bytes.startIndex + offset
        return NetlinkBytes(bytes[start..<start + count])
    }

    /// Returns the bytes after the first `count`, which is rounded up to a multiple of four; empty if there are none.
    func dropping(_ count: Int) -> NetlinkBytes {
        NetlinkBytes(bytes.dropFirst((count + 3) & ~3))
    }

    /// The text up to the first NUL.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// Parses the bytes as netlink attributes, by type number; if a number is repeated, the last attribute is used.
    func attributes() -> [UInt16: NetlinkBytes] {
        var attributes: [UInt16: NetlinkBytes] = [:]
        var rest = self
        while let length = rest.integer(UInt16.self, at: 0), let kind = rest.integer(UInt16.self, at: 2),
            length >= 4, let value = rest.part(from: 4, count: Int(length) - 4)
        {
            // The two highest bits mark nesting and byte order.
            attributes[kind & 0x3fff] = value
            rest = rest.dropping(Int(length))
        }
        return attributes
    }

    /// Returns the interface indices of a multipath route's next hops.
    fileprivate func hops() -> [Int32] {
        var links: [Int32] = []
        var rest = self
        while let length = rest.integer(UInt16.self, at: 0), length >= 8, Int(length) <= rest.bytes.count,
            let link = rest.integer(Int32.self, at: 4)
        {
            links.append(link)
            rest = rest.dropping(Int(length))
        }
        return links
    }
}
