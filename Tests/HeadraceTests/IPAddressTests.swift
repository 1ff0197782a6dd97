import Headrace
import Testing

@Suite(.timeLimit(.minutes(4)))
struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("::1", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"), ("::ffff:7f00:1", "127.0.0.1"), ("::127.0.0.1", "::127.0.0.1"),
    ])
    func `an address is parsed and written, and a mapped one is converted to IPv4`(
        _ text: String,
        _ shown: String
    ) throws {
        let address = try #require(IPAddress(text))
        #expect("\(address)" == shown)
        #expect(IPAddress(bytes: address.bytes) == address)
        #expect(IPAddress(shown) == address)
    }

    @Test(arguments: [
        "", "1", "127.1", "127.0.0.1:80", "[::1]", "fe80::1%eth0", "127.0.0.1\0", "256.0.0.1", "0x7f.0.0.1", " ::1",
        "a.b",
    ])
    func `other text is not an address`(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `an address has 4 or 16 bytes`() {
        for count in 0...20 {
            let address = IPAddress(bytes: [UInt8](repeating: 1, count: count))
            #expect((address != nil) == (count == 4 || count == 16))
        }
    }

    /// The address, and which of loopback, link-local, private and public apply.
    @Test(arguments: [
        ("127.0.0.1", "L"), ("127.255.255.255", "L"), ("::1", "L"), ("::ffff:127.0.0.1", "L"), ("64:ff9b::7f00:1", "L"),
        ("2002:7f00:1::", "L"), ("169.254.169.254", "K"), ("fe80::1", "K"), ("febf::1", "K"),
        ("::ffff:169.254.169.254", "K"), ("64:ff9b::a9fe:a9fe", "K"), ("10.0.0.1", "P"), ("172.16.0.1", "P"),
        ("172.31.255.255", "P"), ("192.168.1.1", "P"), ("fc00::1", "P"), ("fdff::1", "P"), ("2002:c0a8:101::1", "P"),
        ("0.0.0.0", ""), ("0.1.2.3", ""), ("100.64.0.1", ""), ("192.0.0.8", ""), ("192.0.2.1", ""), ("198.18.0.1", ""),
        ("198.19.255.255", ""), ("198.51.100.1", ""), ("203.0.113.1", ""), ("224.0.0.1", ""), ("255.255.255.255", ""),
        ("::", ""), ("::127.0.0.1", ""), ("fec0::1", ""), ("ff02::1", ""), ("2001:db8::1", ""), ("2001::1", ""),
        ("3fff::1", ""), ("64:ff9b:1::1", ""), ("100::1", ""), ("4000::1", ""),
        ("1.1.1.1", "public"), ("9.255.255.255", "public"), ("11.0.0.0", "public"), ("100.63.255.255", "public"),
        ("100.128.0.0", "public"), ("172.15.255.255", "public"), ("172.32.0.0", "public"),
        ("192.167.255.255", "public"),
        ("169.253.255.255", "public"), ("198.17.255.255", "public"), ("223.255.255.255", "public"),
        ("2606:4700::1111", "public"), ("2001:200::1", "public"), ("64:ff9b::101:101", "public"),
        ("2002:101:101::", "public"), ("::ffff:1.1.1.1", "public"),
    ])
    func `D11 loopback, link-local, private and public addresses are distinguished`(
        _ text: String,
        _ kinds: String
    ) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isLoopback == (kinds == "L"))
        #expect(address.isLinkLocal == (kinds == "K"))
        #expect(address.isPrivate == (kinds == "P"))
        #expect(address.isPublic == (kinds == "public"))
    }
}
