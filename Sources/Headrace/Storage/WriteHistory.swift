import HeadracePlatform

/// Tracks the writes to an open file, to distinguish holes that mean lost bytes from harmless ones.
///
/// A hole in a written range means that bytes are lost, unless all of them are zeros, which some file systems store as
/// holes.
struct WriteHistory: Sendable {
    /// The smallest common block size of a file system, in bytes.
    private static let blockBytes: Int64 = 4 << 10

    /// The maximum number of ranges of possible holes; it bounds the time of each write, which searches them.
    static let maxHoles = 4096

    /// The ranges that may be holes without any loss: zeros were written to them, or they were holes in durable ranges
    /// when the file was opened.
    private(set) var possibleHoles = ByteRangeSet()
    private var writeCount = 0
    /// Whether there were more than ``maxHoles`` ranges, so that holes are not checked.
    private var hasTooManyHoles = false

    /// Whether the file must be checked for holes that mean lost bytes.
    ///
    /// `false` after a single write: it can only lose bytes at the end of the file, which the file's size reveals. Also
    /// `false` if there are more than ``maxHoles`` ranges of possible holes, because the check would take too long.
    var mayHaveHoles: Bool { writeCount > 1 && !hasTooManyHoles }

    /// Records a write of `bytes` at an offset in the file.
    mutating func record(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        writeCount += 1
        guard !hasTooManyHoles else { return }
        let end = offset + Int64(bytes.count)
        if !possibleHoles.isEmpty { possibleHoles.remove(offset..<end) }
        // A block that several writes fill is zero if each of them wrote zeros.
        var start = offset
        while start < end {
            let next = min(end, (start / Self.blockBytes + 1) * Self.blockBytes)
            let part = Int(start - offset)..<Int(next - offset)
            if UnsafeRawBufferPointer(rebasing: bytes[part]).isZero { possibleHoles.insert(start..<next) }
            start = next
        }
        guard possibleHoles.ranges.count > Self.maxHoles else { return }
        hasTooManyHoles = true
        possibleHoles = ByteRangeSet()
    }

    /// Records that an earlier run wrote to the file; `knownHoles` are the holes in its durable ranges, which stand for
    /// zeros and not for lost bytes.
    mutating func resume(knownHoles: ByteRangeSet) {
        writeCount = max(writeCount, 1)
        hasTooManyHoles = knownHoles.ranges.count > Self.maxHoles
        possibleHoles = hasTooManyHoles ? ByteRangeSet() : knownHoles
    }

    /// Records that the file was truncated to `size` bytes.
    mutating func truncate(to size: Int64) {
        possibleHoles.truncate(to: size)
        if size == 0 { self = WriteHistory() }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are zero; in nearly all cases, the first byte decides.
    fileprivate var isZero: Bool {
        guard let first, let baseAddress else { return true }
        return first == 0 && memcmp(baseAddress, baseAddress + 1, count - 1) == 0
    }
}
