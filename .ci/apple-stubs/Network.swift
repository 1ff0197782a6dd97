// Stands in for Network on Apple platforms, as far as the package uses it: declarations without behavior.

import Dispatch

public struct NWInterface: Sendable, Hashable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
    public let name: String
    public let type: InterfaceType
}

public enum NWEndpoint: Sendable, Hashable {
    public struct Host: Sendable, Hashable {
        public init(_ string: String) {}
    }
    public struct Port: Sendable, Hashable, RawRepresentable {
        public let rawValue: UInt16
        public init?(rawValue: UInt16) { self.rawValue = rawValue }
    }
    case hostPort(host: Host, port: Port)
}

public struct NWPath: Sendable, Hashable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let availableInterfaces: [NWInterface]
    public let gateways: [NWEndpoint]
    public let isExpensive: Bool
    public let isConstrained: Bool
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

public final class NWPathMonitor: Sendable {
    public init() {}
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? { get { nil } set {} }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}

public enum NWProtocolTLS {
    public final class Options {
        public init() {}
    }
}

public struct ProxyConfiguration: Sendable {
    public init(httpCONNECTProxy: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {}
    public init(socksv5Proxy: NWEndpoint) {}
    public var allowFailover: Bool { get { false } set {} }
    public var excludedDomains: [String] { get { [] } set {} }
    public var matchDomains: [String] { get { [] } set {} }
    public func applyCredential(username: String, password: String) {}
}
