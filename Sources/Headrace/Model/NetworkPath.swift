/// The state of the network, as far as the system reports it, in the same form on all platforms.
public struct NetworkPath: Sendable, Hashable {
    /// The kind of a network interface.
    public enum Interface: String, Sendable, Hashable, CaseIterable {
        /// Ethernet, or an interface that the system presents as such: a bridge, or the link of a container or virtual
        /// machine.
        case wired
        /// A wireless network (IEEE 802.11).
        case wifi
        /// A mobile network.
        case cellular
        /// The loopback interface, because no other interface can be used.
        case loopback
        /// Any other interface, such as a tunnel.
        case other
    }

    /// Whether other machines can be reached.
    public var isUp: Bool
    /// The kind of the interface that the system prefers for new connections.
    public var interface: Interface
    /// Whether traffic may cost money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether the user has limited the traffic, as with Low Data Mode; always `false` on Linux.
    public var isConstrained: Bool
    /// The interfaces that connections use, such as `eth0`, with their addresses, such as `eth0 192.0.2.1`.
    ///
    /// If one of these is lost, connections may be broken. On Apple platforms, the set contains the gateways instead of
    /// the addresses, which are not available.
    var localEndpoints: Set<String>

    /// Creates the state of a network.
    /// - Parameters:
    ///   - isUp: Whether other machines can be reached.
    ///   - interface: The kind of the interface that the system prefers for new connections.
    ///   - isExpensive: Whether traffic may cost money.
    ///   - isConstrained: Whether the user has limited the traffic.
    ///   - localEndpoints: The interfaces and local addresses from which connections may originate.
    package init(
        isUp: Bool,
        interface: Interface = .wired,
        isExpensive: Bool = false,
        isConstrained: Bool = false,
        localEndpoints: Set<String> = []
    ) {
        self.isUp = isUp
        self.interface = interface
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.localEndpoints = localEndpoints
    }
}

/// The reason why a download cannot run on the current network.
public enum NetworkBlocker: String, Sendable, Hashable, CaseIterable {
    /// There is no network; see ``DownloadConfiguration/waitsForConnectivity``.
    case offline
    /// The network may cost money, which ``DownloadRequest/networkPolicy-swift.property`` does not allow.
    case expensive
    /// The user has limited the traffic, as with Low Data Mode, and the request's policy respects that limit.
    case constrained
    /// The network is neither Wi-Fi nor wired, and the request's policy requires one of these.
    case neitherWiFiNorWired
}

extension DownloadRequest {
    /// The networks on which a download may run; a download from a server on this machine may always run.
    ///
    ///     request.networkPolicy = .notExpensive
    public enum NetworkPolicy: String, Sendable, Hashable, CaseIterable {
        /// The download may run on any network.
        case any
        /// The download may run only on networks whose traffic does not cost money.
        case notExpensive
        /// The download must not run on networks on which the user has limited the traffic, as with Low Data Mode.
        case notConstrained
        /// The download may run only on Wi-Fi and wired networks, not on mobile networks or through tunnels, since the
        /// network beneath a tunnel is unknown.
        case wifiOrWired
    }
}
