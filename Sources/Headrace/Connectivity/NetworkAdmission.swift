import HeadracePlatform

/// What a download asks of the network.
struct NetworkRequirement: Sendable, Hashable {
    var policy = DownloadRequest.NetworkPolicy.any
    /// Whether its host is this machine, which is there without any network.
    var isLoopback = false
}

extension NetworkRequirement {
    init(_ request: borrowing DownloadRequest) {
        self.init(policy: request.networkPolicy, isLoopback: Self.isLoopback(request.url.host() ?? ""))
    }

    /// Whether a host is this machine by its name alone (RFC 6761, section 6.3) or by its address.
    static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return IPAddress(host: name)?.isLoopback ?? false
    }
}

/// Decides which downloads may run on the network as it is, and when connections have to be made anew.
///
/// Where the path is not known, all may run.
struct NetworkAdmission: Sendable {
    /// How long after a change the way to others may not be there yet: neighbours, routers and names take a moment.
    static let settlingTime: Duration = .seconds(2)

    private let waitsForConnectivity: Bool
    private(set) var path: NetworkPath?
    /// The newest path on which connections could be made.
    private var lastUp: NetworkPath?

    init(waitsForConnectivity: Bool = true, path: NetworkPath? = nil) {
        self.waitsForConnectivity = waitsForConnectivity
        _ = update(path)
    }

    /// Takes over a path; true where connections that are there may be of no use on it.
    mutating func update(_ path: NetworkPath?) -> Bool {
        self.path = path
        guard let path, path.isUp else { return false }
        defer { lastUp = path }
        return lastUp.map { !$0.origins.isSubset(of: path.origins) } ?? false
    }

    /// What keeps a download from running; nil where nothing does.
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
