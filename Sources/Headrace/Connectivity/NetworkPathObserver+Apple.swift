#if canImport(Network)
import Dispatch
import Network

/// Hands on what the system's own monitor tells.
final class NetworkPathObserver: Sendable {
    private let monitor = NWPathMonitor()

    /// Begins to watch, and tells each path.
    init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
        monitor.pathUpdateHandler = { update(NetworkPath($0)) }
        monitor.start(queue: DispatchQueue(label: "headrace-path"))
    }

    deinit {
        monitor.cancel()
    }

    /// Tells no more.
    func end() async {
        monitor.cancel()
    }

    /// Does nothing: the system tells without being asked.
    func refresh() {}
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        // One that a connection would bring up is brought up by nobody else.
        let isUp = path.status != .unsatisfied
        let kinds: [(NWInterface.InterfaceType, Interface)] = [
            (.wiredEthernet, .wired), (.wifi, .wifi), (.cellular, .cellular), (.loopback, .loopback),
        ]
        let interface = kinds.first { path.usesInterfaceType($0.0) }?.1 ?? .other
        // Which addresses an interface has is not told; with them the way out changes.
        let origins = path.availableInterfaces.prefix(1).map(\.name) + path.gateways.map { "\($0)" }
        self.init(
            isUp: isUp,
            interface: isUp ? interface : .loopback,
            isExpensive: path.isExpensive,
            isConstrained: path.isConstrained,
            origins: isUp ? Set(origins) : []
        )
    }
}
#endif
