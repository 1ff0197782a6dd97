import HeadracePlatform

/// The networks that a download may use, and whether the download needs a network at all.
struct NetworkRequirement: Sendable, Hashable {
    var policy = DownloadRequest.NetworkPolicy.any
    /// Whether the download's host is this machine, which is reachable without a network.
    var isLoopback = false
}

extension NetworkRequirement {
    init(_ request: borrowing DownloadRequest) {
        self.init(policy: request.networkPolicy, isLoopback: Self.isLoopback(request.url.lowercasedHost))
    }

    /// Whether a host is this machine: a `localhost` name (RFC 6761, section 6.3) or a loopback address.
    ///
    /// Other names are not resolved.
    static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return IPAddress(host: name)?.isLoopback ?? false
    }
}

/// Decides which downloads may run on the current network path, and when connections must be renewed.
///
/// While the path is unknown, all downloads may run.
struct NetworkAdmission: Sendable {
    /// The time after a network change in which other hosts may be unreachable: neighbor discovery, routing and DNS
    /// take a moment.
    static let settlingTime: Duration = .seconds(2)

    private let waitsForConnectivity: Bool
    private(set) var path: NetworkPath?
    /// The latest path that was up.
    private var lastUp: NetworkPath?

    init(waitsForConnectivity: Bool = true, path: NetworkPath? = nil) {
        self.waitsForConnectivity = waitsForConnectivity
        _ = update(path)
    }

    /// Sets the path; returns whether open connections may be broken.
    ///
    /// This is `true` if the path is up, but lacks a local endpoint of the last path that was up.
    mutating func update(_ path: NetworkPath?) -> Bool {
        self.path = path
        guard let path, path.isUp else { return false }
        defer { lastUp = path }
        return lastUp.map { !$0.localEndpoints.isSubset(of: path.localEndpoints) } ?? false
    }

    /// Returns the reason why a download must wait; `nil` if it may start.
    ///
    /// If the path is down and the manager does not wait for connectivity, a download may start too, and fails.
    func blocker(for need: NetworkRequirement) -> NetworkBlocker? {
        guard let path, !need.isLoopback else { return nil }
        guard path.isUp else { return waitsForConnectivity ? .offline : nil }
        switch need.policy {
        case .any: return nil
        case .notExpensive: return path.isExpensive ? .expensive : nil
        case .notConstrained: return path.isConstrained ? .constrained : nil
        case .wifiOrWired: return [.wifi, .wired].contains(path.interface) ? nil : .neitherWiFiNorWired
        }
    }
}

extension NetworkPath {
    /// Returns the reason why a download of the request could not run on this path; `nil` if it could.
    /// - Parameter request: The request.
    /// - Returns: The reason; `offline` even if the manager would let the download fail instead of waiting.
    package func blocker(for request: DownloadRequest) -> NetworkBlocker? {
        NetworkAdmission(path: self).blocker(for: NetworkRequirement(request))
    }
}
