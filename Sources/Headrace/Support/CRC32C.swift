/// The CRC-32C checksum (RFC 3720, section 12.1), which detects torn and corrupt bytes, but not forged ones.
enum CRC32C {
    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        ~(bytes.withContiguousStorageIfAvailable(remainder) ?? Array(bytes).withUnsafeBufferPointer(remainder))
    }

    /// Returns the CRC remainder of the bytes.
    ///
    /// Uses pointers, since a debug build takes fifty times longer to iterate over a collection.
    private static func remainder(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            guard let table = table.baseAddress, var next = bytes.baseAddress else { return .max }
            let end = next + bytes.count
            var remainder = UInt32.max
            while next < end {
                remainder = (remainder >> 8) ^ table[Int(UInt8(truncatingIfNeeded: remainder) ^ next.pointee)]
                next += 1
            }
            return remainder
        }
    }

    /// The remainder of each of the 256 byte values; the bits of the polynomial are reversed, because the lowest bit is
    /// transmitted first.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { remainder, _ in
            remainder & 1 == 1 ? (remainder >> 1) ^ 0x82f6_3b78 : remainder >> 1
        }
    }
}
