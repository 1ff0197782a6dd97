/// The way from this machine to others, as far as the system tells of it; it means the same on all platforms.
public struct NetworkPath: Sendable, Hashable {
    /// What kind of interface a path goes through.
    public enum Interface: String, Sendable, Hashable, CaseIterable {
        /// A cable, or what looks like one to the system: a bridge, or the link of a container or a virtual machine.
        case wired
        /// A wireless network (IEEE 802.11).
        case wifi
        /// A mobile network.
        case cellular
        /// None but that of this machine to itself.
        case loopback
        /// Any other, such as a tunnel.
        case other
    }

    /// Whether others than this machine can be reached at all.
    public var isUp: Bool
    /// The kind of the interface that is used first.
    public var interface: Interface
    /// Whether bytes cost money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether the user has asked for few bytes, as with Low Data Mode; never so on Linux, where nobody tells.
    public var isConstrained: Bool
    /// What connections on the path begin at; where one of these is gone, so are the connections from it.
    var origins: Set<String>

    /// Creates a path.
    /// - Parameters:
    ///   - isUp: Whether others than this machine can be reached.
    ///   - interface: The kind of the interface that is used first.
    ///   - isExpensive: Whether bytes cost money.
    ///   - isConstrained: Whether the user has asked for few bytes.
    ///   - origins: Names of what connections begin at, as an interface with one of its addresses.
    init(
        isUp: Bool,
        interface: Interface = .wired,
        isExpensive: Bool = false,
        isConstrained: Bool = false,
        origins: Set<String> = []
    ) {
        self.isUp = isUp
        self.interface = interface
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.origins = origins
    }
}

/// Why a download may not run on the network as it is.
public enum NetworkBlocker: String, Sendable, Hashable, CaseIterable {
    /// There is no network; see ``DownloadConfiguration/waitsForConnectivity``.
    case offline
    /// The network costs money, and the request's ``DownloadRequest/networkPolicy-swift.property`` is against that.
    case expensive
    /// The user has asked for few bytes, and the request's policy obeys.
    case constrained
    /// The network is neither Wi-Fi nor wired, and the request's policy asks for one of these.
    case neitherWiFiNorWired
}

extension DownloadRequest {
    /// On which networks a download may run; a loopback address is none, and is never waited for.
    public enum NetworkPolicy: String, Sendable, Hashable, CaseIterable {
        /// On each.
        case any
        /// On those that cost nothing.
        case notExpensive
        /// Not where the user has asked for few bytes.
        case notConstrained
        /// On Wi-Fi and on wired ones; not on a mobile network, nor through a tunnel, of which nobody knows what is below.
        case wifiOrWired
    }
}
