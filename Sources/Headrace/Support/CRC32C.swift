/// The Castagnoli checksum (RFC 3720, section 12.1), which finds torn and rotten bytes, not forged ones.
enum CRC32C {
    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        var remainder = UInt32.max
        for byte in bytes {
            remainder = (remainder >> 8) ^ table[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)]
        }
        return ~remainder
    }

    /// The remainder of each byte; the polynomial has its bits reversed, as the lowest bit comes first.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { remainder, _ in
            remainder & 1 == 1 ? (remainder >> 1) ^ 0x82f6_3b78 : remainder >> 1
        }
    }
}
