#if canImport(Headrace)
@testable import Headrace
#endif

/// Properties of the kernel's network messages.
extension ParserProperty {
    static func netlinkViolation(_ bytes: [UInt8]) -> String? {
        let messages = NetlinkMessage.all(in: bytes)
        guard messages.count * 16 <= bytes.count else { return "there are more messages than bytes" }
        for case .link(let link) in messages where !NetlinkMessage.Link.isName(link.name) {
            return "\(link.name.debugDescription) is no name of an interface"
        }
        guard NetlinkMessage.all(in: messages.flatMap(\.encoded)) == messages else {
            return "\(messages) are not read back"
        }
        return pathViolation(messages)
    }

    private static func pathViolation(_ messages: [NetlinkMessage]) -> String? {
        var state = NetlinkState()
        func apply(_ messages: [NetlinkMessage]) {
            for message in messages { _ = state.apply(message) { $0.hasPrefix("w") ? "wlan" : nil } }
        }
        func response(_ first: NetlinkState.Question) {
            var question = first
            while case .query(let next) = state.apply(.done(question.sequence, isWhole: true), deviceType: { _ in nil })
            {
                question = next
            }
        }
        response(state.restart())
        guard state.path == NetworkPath(isUp: false, interface: .loopback) else {
            return "there is a path without links"
        }
        apply(messages)
        guard let path = state.path else { return "messages take the path away" }
        guard path.isUp != path.localEndpoints.isEmpty else { return "\(path) begins nowhere, or is none and begins" }
        guard path.isUp || path.interface == .loopback else { return "\(path) is none, and goes through something" }
        // Remove each link that was reported.
        apply(messages.compactMap { if case .link(let link) = $0 { .linkGone(link.index) } else { nil } })
        return state.path?.isUp == false ? nil : "without links there is \(String(describing: state.path))"
    }
}

/// The message as the kernel writes it, without the parts that the parser ignores.
extension NetlinkMessage {
    var encoded: [UInt8] {
        switch self {
        case .link(let link): Self.message(16, link.encoded)
        case .linkGone(let index):
            Self.message(17, Self.words(0) + Self.words(index, 0, 0) + Self.attribute(3, Array("x".utf8)))
        case .address(let address): Self.message(20, address.encoded)
        case .addressGone(let address): Self.message(21, address.encoded)
        case .route(let route, let replaces): Self.message(24, route.encoded, flags: replaces ? 0x100 : 0)
        case .routeGone(let route): Self.message(25, route.encoded)
        case .done(let sequence, let isWhole): Self.message(3, [], flags: isWhole ? 0 : 0x10, sequence: sequence)
        case .refused(let sequence, let errno): Self.message(2, Self.words(-errno), sequence: sequence)
        }
    }

    private static func message(_ kind: UInt16, _ body: [UInt8], flags: UInt16 = 0, sequence: UInt32 = 0) -> [UInt8] {
        words(Int32(16 + body.count)) + halves(kind, flags) + words(Int32(bitPattern: sequence), 0) + body
    }

    fileprivate static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        return halves(UInt16(4 + value.count), kind) + value + padding
    }

    fileprivate static func halves(_ numbers: UInt16...) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number) { Array($0) } }
    }

    fileprivate static func words(_ numbers: Int32...) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number) { Array($0) } }
    }
}

extension NetlinkMessage.Link {
    fileprivate var encoded: [UInt8] {
        typealias Message = NetlinkMessage
        let flags: Int32 = (isUp ? 0x1 : 0) | (isRunning ? 0x40 : 0) | (isLoopback ? 0x8 : 0)
        let kind = Message.attribute(1, Array("bridge".utf8))
        return Message.halves(0, isEthernet ? 1 : 65534) + Message.words(index, flags, 0)
            + Message.attribute(3, Array(name.utf8) + [0]) + (isBridge ? Message.attribute(18, kind) : [])
    }
}

extension NetlinkMessage.Address {
    fileprivate var encoded: [UInt8] {
        let family: UInt8 = address.bytes.count == 4 ? 2 : 10
        return [family, 0, isUsable ? 0 : 0x40, 0] + NetlinkMessage.words(index)
            + NetlinkMessage.attribute(1, address.bytes)
    }
}

extension NetlinkMessage.Route {
    fileprivate var encoded: [UInt8] {
        typealias Message = NetlinkMessage
        let ways =
            links.count == 1
            ? Message.attribute(4, Message.words(links[0]))
            : Message.attribute(9, links.flatMap { Message.halves(8, 0) + Message.words($0) })
        return [isIPv6 ? 10 : 2, 0, 0, 0, 254, 0, 0, 1] + Message.words(0)
            + Message.attribute(6, Message.words(Int32(bitPattern: metric))) + Message.attribute(5, gateway) + ways
    }
}
