/// An endless sequence of bytes, computed from the offset so that it needs no storage.
///
/// It repeats one table of noise; the table's length is prime, so no shift by blocks, pages or segments maps the
/// sequence onto itself. The seed selects the position in the table at which the sequence starts.
package struct Pattern: Sendable, Hashable {
    private static let period = 1_048_573
    private static let noise: [UInt8] = {
        var random = SeededRandom(seed: 0x4865_6164_7261_6365)
        return [UInt8](unsafeUninitializedCapacity: period + 8) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            var offset = 0
            while offset < period {
                bytes.storeBytes(of: random.next().littleEndian, toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            count = period
        }
    }()

    private let start: Int64

    /// Creates the sequence for a seed.
    /// - Parameter seed: Different seeds give sequences that differ in all but one of 256 bytes.
    package init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        start = Int64(random.next() % UInt64(Pattern.period))
    }

    /// Returns the bytes at these offsets, counted from zero.
    package func bytes(in range: Range<Int64>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        while bytes.count < range.count {
            bytes += run(in: range.lowerBound + Int64(bytes.count)..<range.upperBound)
        }
        return bytes
    }

    /// Returns the first bytes of the range, as many as are contiguous in memory.
    func run(in range: Range<Int64>) -> ArraySlice<UInt8> {
        let place = Int((start + range.lowerBound) % Int64(Pattern.period))
        let count = min(range.upperBound - range.lowerBound, Int64(Pattern.period - place))
        return Pattern.noise[place..<place + Int(count)]
    }
}
