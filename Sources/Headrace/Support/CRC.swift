/// A cyclic redundancy check over consecutive bytes, of 32 or 64 bits; it detects transmission errors, not forgeries.
///
/// The bits of each byte are processed from the lowest to the highest (reflected). The remainder starts with all bits
/// set, and is inverted at the end.
struct CRC: Sendable {
    /// The tables of a polynomial.
    struct Polynomial: Sendable {
        /// CRC-32 (ISO/IEC 3309), as in gzip.
        static let crc32 = Polynomial(reflected: 0xedb8_8320, bits: 32)
        /// CRC-32C (RFC 3720, section 12.1).
        static let crc32c = Polynomial(reflected: 0x82f6_3b78, bits: 32)
        /// CRC-64/NVME (NVM Express, NVM command set specification, section 5.2.1.3.4).
        static let crc64nvme = Polynomial(reflected: 0x9a6c_9329_ac4b_c9b5, bits: 64)

        fileprivate let mask: UInt64
        /// The remainder of each byte value, followed by 0 to 7 zero bytes: 8 tables of 256 values.
        fileprivate let tables: [UInt64]

        private init(reflected polynomial: UInt64, bits: UInt64) {
            mask = .max >> (64 - bits)
            var tables = (0..<256).map { byte in
                (0..<8).reduce(UInt64(byte)) { remainder, _ in
                    remainder & 1 == 1 ? remainder >> 1 ^ polynomial : remainder >> 1
                }
            }
            for index in 0..<7 * 256 { tables.append(tables[index] >> 8 ^ tables[Int(tables[index] & 0xff)]) }
            self.tables = tables
        }
    }

    private let polynomial: Polynomial
    private var remainder: UInt64

    init(_ polynomial: Polynomial) {
        self.polynomial = polynomial
        remainder = polynomial.mask
    }

    /// The check value of all bytes so far.
    var value: UInt64 { remainder ^ polynomial.mask }

    /// Adds the next bytes, eight at a time.
    ///
    /// Uses pointers, since a debug build takes fifty times longer to iterate over a collection.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard var next = bytes.baseAddress else { return }
        let end = next + bytes.count
        remainder = polynomial.tables.withUnsafeBufferPointer { buffer in
            guard let tables = buffer.baseAddress else { return remainder }
            var remainder = remainder
            while end - next >= 8 {
                var word = UInt64(littleEndian: next.loadUnaligned(as: UInt64.self)) ^ remainder
                remainder = 0
                var table = tables + 7 * 256
                for _ in 0..<8 {
                    remainder ^= table[Int(truncatingIfNeeded: word & 0xff)]
                    word >>= 8
                    table -= 256
                }
                next += 8
            }
            while next < end {
                let byte = UInt64(next.load(as: UInt8.self))
                remainder = remainder >> 8 ^ tables[Int(truncatingIfNeeded: (remainder ^ byte) & 0xff)]
                next += 1
            }
            return remainder
        }
    }
}

/// The CRC-32C checksum of whole files and lines, which detects torn and corrupt bytes, but not forged ones.
enum CRC32C {
    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.withContiguousStorageIfAvailable(checksum) ?? Array(bytes).withUnsafeBufferPointer(checksum)
    }

    private static func checksum(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        var crc = CRC(.crc32c)
        crc.update(UnsafeRawBufferPointer(bytes))
        return UInt32(truncatingIfNeeded: crc.value)
    }
}
