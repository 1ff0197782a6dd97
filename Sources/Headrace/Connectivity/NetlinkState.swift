/// The links, addresses and default routes that the kernel has reported, and the network path they form.
struct NetlinkState: Sendable {
    /// The kinds of data to request, one after the other because the kernel handles only one request at a time.
    enum Kind: UInt16, Sendable, CaseIterable {
        case links = 18  // RTM_GETLINK
        case addresses = 22  // RTM_GETADDR
        case routes = 26  // RTM_GETROUTE
    }

    struct Question: Sendable, Hashable {
        var kind: Kind
        /// The number of the request, which the kernel repeats in its responses.
        var sequence: UInt32
    }

    enum Step: Sendable, Hashable {
        case query(Question)
        case none
        /// Stop observing, because the kernel does not supply the data.
        case fail(errno: Int32)
    }

    private struct Link {
        let link: NetlinkMessage.Link
        let interface: NetworkPath.Interface
        var isUsable: Bool { link.isUp && link.isRunning && !link.isLoopback }
    }

    private var links: [Int32: Link] = [:]
    private var addresses: [Int32: Set<IPAddress>] = [:]
    private var routes: Set<NetlinkMessage.Route> = []
    private var question = Question(kind: .links, sequence: 0)
    /// Whether the data of all kinds has arrived.
    private var isComplete = false
    /// The request to send as soon as no messages are left to read.
    private var postponed: Question?

    /// Discards all data because messages were lost, and schedules a request for all of it.
    ///
    /// The request is not sent at once: the kernel rejects a request while it handles another one, and drops the
    /// rejection if there is no room for it.
    mutating func lost() {
        postponed = restart()
    }

    /// Removes and returns the scheduled request, if any; called when no messages are left to read.
    mutating func drained() -> Question? {
        postponed.take()
    }

    /// Discards all data and returns the first request, which the caller sends.
    mutating func restart() -> Question {
        (links, addresses, routes, isComplete) = ([:], [:], [], false)
        return query(.links)
    }

    private mutating func query(_ kind: Kind) -> Question {
        question = Question(kind: kind, sequence: question.sequence &+ 1)
        return question
    }

    /// Applies a message and returns the next step; `deviceType` returns an interface's `DEVTYPE`, such as `wlan`.
    mutating func apply(_ message: NetlinkMessage, deviceType: (String) -> String?) -> Step {
        switch message {
        case .link(let link):
            links[link.index] = Link(link: link, interface: .init(link, deviceType))
            // The kernel removes the routes of a disabled link without a message.
            if !link.isUp { forgetRoutes { $0.links.contains(link.index) } }
        case .linkGone(let index):
            links[index] = nil
            addresses[index] = nil
            forgetRoutes { $0.links.contains(index) }
        case .address(let address) where address.isUsable:
            addresses[address.index, default: []].insert(address.address)
        case .address(let address), .addressGone(let address):
            addresses[address.index]?.remove(address.address)
            // When an interface loses its last IPv4 address, the kernel removes its IPv4 routes without a message.
            if addresses[address.index]?.contains(where: { $0.bytes.count == 4 }) != true,
                address.address.bytes.count == 4
            {
                forgetRoutes { !$0.isIPv6 && $0.links.contains(address.index) }
            }
        case .route(let route, let replaces):
            if replaces { forgetRoutes { $0.isIPv6 == route.isIPv6 && $0.metric == route.metric } }
            routes.insert(route)
        case .routeGone(let route): routes.remove(route)
        case .done(question.sequence, let isWhole) where !isComplete:
            guard isWhole else { return .query(query(question.kind)) }
            switch question.kind {
            case .links: return .query(query(.addresses))
            case .addresses: return .query(query(.routes))
            case .routes: isComplete = true
            }
        case .refused(question.sequence, let errno) where !isComplete: return .fail(errno: errno)
        case .done, .refused: break
        }
        return .none
    }

    private mutating func forgetRoutes(_ isGone: (NetlinkMessage.Route) -> Bool) {
        routes = routes.filter { !isGone($0) }
    }

    /// The current path; `nil` until all data has arrived.
    var path: NetworkPath? {
        guard isComplete else { return nil }
        let ways = defaultWays.isEmpty ? localWays : defaultWays
        guard let first = ways.first else { return NetworkPath(isUp: false, interface: .loopback) }
        let localEndpoints = ways.flatMap { way in
            addresses[way.link.index, default: []].map { "\(way.link.name) \($0)" } + [way.link.name]
        }
        return NetworkPath(
            isUp: true,
            interface: first.interface,
            isExpensive: first.interface == .cellular,
            localEndpoints: Set(localEndpoints)
        )
    }

    /// The usable links of the best IPv4 default route, followed by those of the best IPv6 default route.
    ///
    /// The best route is the one with the lowest metric; routes without a usable link do not count.
    private var defaultWays: [Link] {
        [false, true].flatMap { isIPv6 in
            let ways = routes.filter { $0.isIPv6 == isIPv6 }.sorted { $0.metric < $1.metric }.lazy.map { route in
                route.links.compactMap { links[$0] }.filter(\.isUsable)
            }
            return ways.first { !$0.isEmpty } ?? []
        }
    }

    /// The usable links with an address that is not link-local, in order of preference.
    ///
    /// Used if no default route has a usable link. Bridges are excluded, since without a default route a bridge leads
    /// only to guests on this machine.
    private var localWays: [Link] {
        let order: [NetworkPath.Interface] = [.wired, .wifi, .cellular, .other]
        let ways = links.values.filter { way in
            way.isUsable && !way.link.isBridge && addresses[way.link.index, default: []].contains { !$0.isLinkLocal }
        }
        return order.flatMap { kind in
            ways.filter { $0.interface == kind }.sorted { $0.link.index < $1.link.index }
        }
    }
}

extension NetworkPath.Interface {
    fileprivate init(_ link: NetlinkMessage.Link, _ deviceType: (String) -> String?) {
        guard !link.isLoopback else {
            self = .loopback
            return
        }
        switch deviceType(link.name) {
        case "wlan": self = .wifi
        case "wwan": self = .cellular
        default: self = link.isEthernet ? .wired : .other
        }
    }
}
