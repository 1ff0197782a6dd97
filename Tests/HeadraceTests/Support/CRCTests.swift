import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct CRCTests {
    /// The check values of the catalogue of parametrised CRC algorithms.
    @Test(
        arguments: [
            (.crc32, 0xcbf4_3926), (.crc32c, 0xe306_9283), (.crc64nvme, 0xae8b_1486_0a79_9888),
        ] as [(CRC.Polynomial, UInt64)]
    )
    func `the check value is the published one, however the bytes are split`(
        _ polynomial: CRC.Polynomial,
        _ value: UInt64
    ) {
        let bytes = Array("123456789".utf8)
        for split in 0...bytes.count {
            var crc = CRC(polynomial)
            for part in [bytes[..<split], bytes[split...]] { part.withUnsafeBytes { crc.update($0) } }
            #expect(crc.value == value)
        }
    }

    /// The check value of the algorithm, and the examples of RFC 3720, appendix B.4.
    @Test(
        arguments: [
            (Array("123456789".utf8), 0xe306_9283), ([], 0), (Array("a".utf8), 0xc1d0_4330),
            ([UInt8](repeating: 0, count: 32), 0x8a91_36aa), ([UInt8](repeating: 0xff, count: 32), 0x62a8_ab43),
            (Array(0..<32), 0x46dd_794e), (Array((0..<32).reversed()), 0x113f_db5c),
        ] as [([UInt8], UInt32)]
    )
    func `checksums match the published values`(_ bytes: [UInt8], _ checksum: UInt32) {
        #expect(CRC32C.checksum(of: bytes) == checksum)
    }

    @Test func `each bit changes the checksum`() {
        let bytes = Array("a record of some length, to be changed".utf8)
        var seen: Set<UInt32> = [CRC32C.checksum(of: bytes)]
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(seen.insert(CRC32C.checksum(of: changed)).inserted)
        }
    }
}
