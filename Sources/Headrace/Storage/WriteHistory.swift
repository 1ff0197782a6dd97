import HeadracePlatform

/// The writes to an open file, as far as they decide which holes the file may have.
///
/// A hole in written bytes means that they are lost, unless they were zeros, which some file systems store as a hole.
struct WriteHistory: Sendable {
    /// The smallest block of common file systems.
    private static let blockBytes: Int64 = 4 << 10

    /// The byte ranges that may be holes, since zeros were written to them or they were holes before.
    private(set) var possibleHoles = ByteRangeSet()
    private var writeCount = 0

    /// Whether bytes were written behind others that may have been lost meanwhile.
    ///
    /// The bytes of a single write can be lost only from the end of the file, which its size shows.
    var mayHaveHoles: Bool { writeCount > 1 }

    /// Records a write.
    mutating func record(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        writeCount += 1
        let end = offset + Int64(bytes.count)
        if !possibleHoles.isEmpty { possibleHoles.remove(offset..<end) }
        // A block that several writes fill is zeros if each of them wrote zeros to it.
        var start = offset
        while start < end {
            let next = min(end, (start / Self.blockBytes + 1) * Self.blockBytes)
            let part = Int(start - offset)..<Int(next - offset)
            if UnsafeRawBufferPointer(rebasing: bytes[part]).isZero { possibleHoles.insert(start..<next) }
            start = next
        }
    }

    /// Records bytes that an earlier run wrote, and holes among them that are known to be zeros.
    mutating func resume(knownHoles: ByteRangeSet) {
        writeCount = max(writeCount, 1)
        possibleHoles = knownHoles
    }

    /// Records that the file was cut to a size.
    mutating func truncate(to size: Int64) {
        possibleHoles.truncate(to: size)
        if size == 0 { writeCount = 0 }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are zero; the first one decides in nearly all cases.
    fileprivate var isZero: Bool {
        guard let first, let baseAddress else { return true }
        return first == 0 && memcmp(baseAddress, baseAddress + 1, count - 1) == 0
    }
}
