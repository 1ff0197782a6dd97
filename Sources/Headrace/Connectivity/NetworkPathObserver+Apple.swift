#if canImport(Network)
import Dispatch
import Network

/// Observes the network path with the system's `NWPathMonitor`.
final class NetworkPathObserver: Sendable {
    private let monitor = NWPathMonitor()

    /// Starts to observe the network path and passes each path to `update`.
    init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
        monitor.pathUpdateHandler = { update(NetworkPath($0)) }
        monitor.start(queue: DispatchQueue(label: "headrace-path"))
    }

    deinit {
        monitor.cancel()
    }

    /// Stops passing paths to the closure.
    func end() async {
        monitor.cancel()
    }

    /// Does nothing: the system reports changes by itself.
    func refresh() {}
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        // A path that requires a connection counts as up, since only connecting to a host establishes it.
        let isUp = path.status != .unsatisfied
        let kinds: [(NWInterface.InterfaceType, Interface)] = [
            (.wiredEthernet, .wired), (.wifi, .wifi), (.cellular, .cellular), (.loopback, .loopback),
        ]
        let interface = kinds.first { path.usesInterfaceType($0.0) }?.1 ?? .other
        // The addresses of an interface are not available, but the gateways change with them.
        let localEndpoints = path.availableInterfaces.prefix(1).map(\.name) + path.gateways.map { "\($0)" }
        self.init(
            isUp: isUp,
            interface: isUp ? interface : .loopback,
            isExpensive: path.isExpensive,
            isConstrained: path.isConstrained,
            localEndpoints: isUp ? Set(localEndpoints) : []
        )
    }
}
#endif
