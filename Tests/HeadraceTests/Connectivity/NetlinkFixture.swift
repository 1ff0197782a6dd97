@testable import Headrace

/// Kernel messages about a small machine with a loopback, a wired, a Wi-Fi and a bridge interface.
enum NetlinkFixture {
    static func link(
        _ index: Int32,
        _ name: String,
        isUp: Bool = true,
        isRunning: Bool = true,
        isBridge: Bool = false
    ) -> NetlinkMessage {
        .link(
            NetlinkMessage.Link(
                index: index,
                name: name,
                isUp: isUp,
                isRunning: isRunning,
                isLoopback: name == "lo",
                isEthernet: !name.hasPrefix("tun") && name != "lo",
                isBridge: isBridge
            )
        )
    }

    static func address(_ index: Int32, _ text: String, isUsable: Bool = true) -> NetlinkMessage.Address {
        guard let address = IPAddress(text) else { preconditionFailure("No address: \(text)") }
        return NetlinkMessage.Address(index: index, address: address, isUsable: isUsable)
    }

    static func route(
        _ links: Int32...,
        metric: UInt32 = 100,
        isIPv6: Bool = false,
        gateway: [UInt8] = [192, 0, 2, 1]
    ) -> NetlinkMessage.Route {
        NetlinkMessage.Route(isIPv6: isIPv6, links: links, metric: metric, gateway: gateway)
    }

    /// One message of each kind.
    static let all: [NetlinkMessage] = [
        link(1, "lo"), link(2, "eth0"), link(3, "wlan0", isRunning: false), link(4, "br0", isBridge: true),
        .linkGone(5),
        .address(address(1, "127.0.0.1")), .address(address(2, "192.0.2.2")),
        .address(address(2, "2001:db8::2", isUsable: false)), .addressGone(address(3, "192.0.2.3")),
        .route(route(2), replaces: false), .route(route(2, 3, metric: 1024, isIPv6: true, gateway: []), replaces: true),
        .routeGone(route(3, metric: 600)), .done(7, isWhole: true), .done(8, isWhole: false), .refused(9, errno: 16),
    ]

    /// The state after these messages and a complete dump.
    static func state(_ messages: [NetlinkMessage]) -> NetlinkState {
        var state = NetlinkState()
        var question = state.restart()
        apply(messages, to: &state)
        while case .query(let next) = state.apply(.done(question.sequence, isWhole: true), deviceType: { _ in nil }) {
            question = next
        }
        return state
    }

    static func apply(_ messages: [NetlinkMessage], to state: inout NetlinkState) {
        for message in messages { _ = state.apply(message, deviceType: deviceType) }
    }

    /// The device type that the system reports for the usual interface names.
    static func deviceType(_ name: String) -> String? {
        switch name.prefix(3) {
        case "wla": "wlan"
        case "wwa": "wwan"
        default: nil
        }
    }
}
