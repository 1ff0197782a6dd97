import Testing

@testable import Headrace

/// The network path that results from the kernel's messages.
@Suite(.timeLimit(.minutes(4)))
struct NetlinkStateTests {
    private typealias Fixture = NetlinkFixture

    private static let loopback: [NetlinkMessage] = [
        Fixture.link(1, "lo"), .address(Fixture.address(1, "127.0.0.1")), .address(Fixture.address(1, "::1")),
    ]

    /// A machine with a wired interface and a default route.
    private static let wired =
        loopback + [
            Fixture.link(2, "eth0"), .address(Fixture.address(2, "192.0.2.2")),
            .route(Fixture.route(2), replaces: false),
        ]

    private static let wifi: [NetlinkMessage] = [
        Fixture.link(3, "wlan0"), .address(Fixture.address(3, "198.51.100.3")),
        .route(Fixture.route(3, metric: 600), replaces: false),
    ]

    private func path(_ messages: [NetlinkMessage]) -> NetworkPath? { Fixture.state(messages).path }

    @Test(arguments: Fixture.all)
    func `a message is read back from its bytes`(_ message: NetlinkMessage) {
        #expect(NetlinkMessage.all(in: message.encoded) == [message])
    }

    @Test(arguments: ["192.0.2.2", "2001:db8::2"])
    func `a secondary or temporary address is ignored`(_ text: String) {
        var bytes = NetlinkMessage.address(Fixture.address(2, text)).encoded
        #expect(NetlinkMessage.all(in: bytes).count == 1)
        bytes[18] |= 1
        #expect(NetlinkMessage.all(in: bytes).isEmpty)
    }

    @Test func `a truncated message is ignored, wherever it is cut`() {
        let first = Fixture.link(2, "eth0")
        let second = NetlinkMessage.address(Fixture.address(2, "192.0.2.2"))
        let bytes = first.encoded + second.encoded
        for count in 0..<bytes.count {
            let expected = count < first.encoded.count ? [] : [first]
            #expect(NetlinkMessage.all(in: Array(bytes[..<count])) == expected, "\(count) bytes")
        }
    }

    @Test func `there is no path until the kernel has sent links, addresses and routes`() {
        var state = NetlinkState()
        let links = state.restart()
        Fixture.apply(Self.wired, to: &state)
        #expect(state.path == nil)
        var requested = [links.kind]
        var question = links
        // A response to another query is ignored.
        let other = state.apply(.done(question.sequence &+ 9, isWhole: true), deviceType: Fixture.deviceType)
        #expect(other == .none)
        while case .query(let next) = state.apply(
            .done(question.sequence, isWhole: true),
            deviceType: Fixture.deviceType
        ) {
            requested.append(next.kind)
            question = next
        }
        #expect(requested == [.links, .addresses, .routes])
        #expect(state.path?.isUp == true)
    }

    @Test func `an interrupted dump is requested again, and a refused one fails`() {
        var state = NetlinkState()
        let first = state.restart()
        let again = state.apply(.done(first.sequence, isWhole: false), deviceType: Fixture.deviceType)
        guard case .query(let second) = again else {
            Issue.record("\(again)")
            return
        }
        #expect(second.kind == .links && second.sequence != first.sequence)
        let late = state.apply(.done(first.sequence, isWhole: true), deviceType: Fixture.deviceType)
        #expect(late == .none)
        let refusal = state.apply(.refused(second.sequence, errno: 16), deviceType: Fixture.deviceType)
        #expect(refusal == .fail(errno: 16))
    }

    @Test func `after lost messages, the state is requested again once the socket is drained`() {
        var state = NetlinkState()
        let first = state.restart()
        Fixture.apply(Self.wired, to: &state)
        state.lost()
        // The kernel continues the old dump, which no longer counts.
        let late = state.apply(.done(first.sequence, isWhole: true), deviceType: Fixture.deviceType)
        #expect(late == .none)
        let again = state.drained()
        #expect(again?.kind == .links && again?.sequence != first.sequence)
        let nothing = state.drained()
        #expect(nothing == nil)
        #expect(state.path == nil)
    }

    @Test func `a machine with only a loopback interface is offline`() {
        #expect(path(Self.loopback) == NetworkPath(isUp: false, interface: .loopback))
    }

    @Test func `the default route with the lowest metric determines the path`() {
        #expect(path(Self.wired)?.interface == .wired)
        #expect(path(Self.wired + Self.wifi)?.interface == .wired)
        let cheaper = NetlinkMessage.route(Fixture.route(3, metric: 50), replaces: false)
        #expect(path(Self.wired + Self.wifi + [cheaper])?.interface == .wifi)
        // Without a carrier, the interface's route does not count.
        #expect(path(Self.wired + Self.wifi + [Fixture.link(2, "eth0", isRunning: false)])?.interface == .wifi)
    }

    /// The interface's name, its type, and whether it is expensive.
    @Test(arguments: [
        ("eth0", NetworkPath.Interface.wired, false), ("wlan0", .wifi, false), ("wwan0", .cellular, true),
        ("tun0", .other, false),
    ])
    func `the type of an interface is that of its device`(
        _ name: String,
        _ interface: NetworkPath.Interface,
        _ isExpensive: Bool
    ) {
        let messages = [Fixture.link(2, name), .route(Fixture.route(2), replaces: false)]
        let path = path(messages)
        #expect(path == NetworkPath(isUp: true, interface: interface, isExpensive: isExpensive, localEndpoints: [name]))
    }

    /// Messages after the wired state, and whether its path is then up.
    @Test(arguments: [
        ([Fixture.link(2, "eth0", isRunning: false)], false),
        ([Fixture.link(2, "eth0", isUp: false, isRunning: false)], false), ([.linkGone(2)], false),
        // The destination may be on the local network.
        ([.routeGone(Fixture.route(2))], true),
        ([.routeGone(Fixture.route(2)), .addressGone(Fixture.address(2, "192.0.2.2"))], false),
        // The route was removed with the address.
        ([.addressGone(Fixture.address(2, "192.0.2.2"))], false),
        // An IPv6 router can be reached with only a link-local address.
        ([.routeGone(Fixture.route(2)), .route(Fixture.route(2, isIPv6: true), replaces: false)], true),
        ([Fixture.link(2, "eth0", isUp: false, isRunning: false), Fixture.link(2, "eth0")], true),
        ([.route(Fixture.route(3), replaces: true), .addressGone(Fixture.address(2, "192.0.2.2"))], false),
    ])
    func `links, addresses and routes can be added and removed`(_ messages: [NetlinkMessage], _ isUp: Bool) {
        #expect(path(Self.wired + messages)?.isUp == isUp)
    }

    /// An interface without a route, its address, and whether it is a path.
    @Test(arguments: [
        (Fixture.link(2, "eth0"), "192.0.2.2", true), (Fixture.link(2, "eth0"), "169.254.1.1", false),
        (Fixture.link(2, "eth0"), "fe80::1", false), (Fixture.link(2, "eth0"), "fd00::2", true),
        (Fixture.link(2, "br0", isBridge: true), "172.17.0.1", false),
    ])
    func `without a default route, a routable address is a path, but not on a bridge`(
        _ link: NetlinkMessage,
        _ address: String,
        _ isUp: Bool
    ) {
        #expect(path(Self.loopback + [link, .address(Fixture.address(2, address))])?.isUp == isUp)
    }

    @Test func `a tentative address does not count until it is usable`() {
        let link = Fixture.link(2, "eth0")
        #expect(path([link, .address(Fixture.address(2, "fd00::2", isUsable: false))])?.isUp == false)
        let messages: [NetlinkMessage] = [
            .address(Fixture.address(2, "fd00::2", isUsable: false)), .address(Fixture.address(2, "fd00::2")),
        ]
        #expect(path([link] + messages)?.isUp == true)
    }

    @Test func `connections originate from the addresses of the interfaces in use`() {
        let path = path(Self.wired + Self.wifi + [.address(Fixture.address(2, "2001:db8::2"))])
        #expect(path?.localEndpoints == ["eth0", "eth0 192.0.2.2", "eth0 2001:db8::2"])
    }
}
