/// The state of the network, as far as the system reports it; the same on all platforms.
public struct NetworkPath: Sendable, Hashable {
    /// The kind of a network interface.
    public enum Interface: String, Sendable, Hashable, CaseIterable {
        /// Ethernet, or an interface that the system presents as such: a bridge, or the link of a container or virtual machine.
        case wired
        /// A wireless network (IEEE 802.11).
        case wifi
        /// A mobile network.
        case cellular
        /// Only the loopback interface.
        case loopback
        /// Any other interface, such as a tunnel.
        case other
    }

    /// Whether other machines can be reached.
    public var isUp: Bool
    /// The kind of the interface that is used first.
    public var interface: Interface
    /// Whether traffic may cost money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether the user requests less traffic, as with Low Data Mode; always `false` on Linux, which has no such setting.
    public var isConstrained: Bool
    /// The local endpoints of connections; when an endpoint disappears, its connections are lost.
    var localEndpoints: Set<String>

    /// Creates a path.
    /// - Parameters:
    ///   - isUp: Whether other machines can be reached.
    ///   - interface: The kind of the interface that is used first.
    ///   - isExpensive: Whether traffic may cost money.
    ///   - isConstrained: Whether the user requests less traffic.
    ///   - localEndpoints: The local endpoints of connections, such as an interface with one of its addresses.
    init(
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
    /// The network may cost money, and the request's ``DownloadRequest/networkPolicy-swift.property`` does not allow that.
    case expensive
    /// The user requests less traffic, and the request's policy respects that.
    case constrained
    /// The network is neither Wi-Fi nor wired, and the request's policy requires one of these.
    case neitherWiFiNorWired
}

extension DownloadRequest {
    /// The networks on which a download may run; a loopback address is always allowed.
    ///
    ///     request.networkPolicy = .notExpensive
    public enum NetworkPolicy: String, Sendable, Hashable, CaseIterable {
        /// Any network.
        case any
        /// Networks that do not cost money.
        case notExpensive
        /// Networks on which the user does not request less traffic.
        case notConstrained
        /// Wi-Fi and wired networks; not mobile networks, nor tunnels, since the network below them is unknown.
        case wifiOrWired
    }
}
