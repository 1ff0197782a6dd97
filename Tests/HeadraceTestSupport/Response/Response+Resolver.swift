extension Response {
    /// A resolver over HTTPS (RFC 8484) that knows the IPv4 addresses of these hosts.
    package static func resolver(_ addresses: [String: [UInt8]]) -> Response {
        answering { request in
            let message = DNSQuery(request.body)?.response(addresses) ?? []
            return .ok(.bytes(message)).header("Content-Type", "application/dns-message")
        }
    }
}

/// A DNS query with one question (RFC 1035, section 4.1).
private struct DNSQuery {
    private static let headerBytes = 12
    private static let addressType: UInt8 = 1

    let host: String
    private let id: ArraySlice<UInt8>
    private let question: ArraySlice<UInt8>
    private let type: UInt8

    init?(_ bytes: [UInt8]) {
        var labels: [String] = []
        var index = Self.headerBytes
        while index < bytes.count, bytes[index] > 0 {
            let end = index + 1 + Int(bytes[index])
            guard end < bytes.count else { return nil }
            labels.append(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        // The empty label, the type and the class.
        guard index + 5 <= bytes.count else { return nil }
        host = labels.joined(separator: ".")
        id = bytes[..<2]
        question = bytes[Self.headerBytes..<(index + 5)]
        type = bytes[index + 2]
    }

    /// Returns the response, whose only record is the address of the host; without one if the address is unknown.
    func response(_ addresses: [String: [UInt8]]) -> [UInt8] {
        let address = type == Self.addressType ? addresses[host] : nil
        let header: [UInt8] = [0x81, 0x80, 0, 1, 0, address == nil ? 0 : 1, 0, 0, 0, 0]
        // The name is a pointer to the question; the time to live is a minute.
        let record =
            address.map { [0xc0, 0x0c, 0, Self.addressType, 0, 1, 0, 0, 0, 60, 0, UInt8($0.count)] + $0 } ?? []
        return id + header + question + record
    }
}
