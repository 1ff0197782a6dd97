import HeadracePlatform

/// Bytes that follow from a file, its version and their offset alone: nothing needs keeping to check any of them.
struct VersionedContent: Sendable {
    private let base: UInt64

    init(file: Int, version: Int) {
        base = SplitMix.mixed(SplitMix.mixed(UInt64(file) &+ 1) &+ UInt64(version) &* SplitMix.step)
    }

    /// The eight bytes from `8 * index` on.
    func word(at index: Int) -> UInt64 {
        SplitMix.mixed(base &+ UInt64(index) &* SplitMix.step)
    }
}

/// A buffer in which a range of a content is made, to be sent or to be compared.
struct ContentWindow {
    private var words: [UInt64]

    init(capacity: Int) {
        // A range may begin and end inside a word.
        words = Array(repeating: 0, count: capacity / 8 + 2)
    }

    /// Hands over the bytes of a range that is no longer than the capacity.
    mutating func withBytes<Result>(
        of content: VersionedContent,
        in range: Range<Int>,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let first = range.lowerBound / 8
        for index in first..<(range.upperBound + 7) / 8 { words[index - first] = content.word(at: index) }
        return try words.withUnsafeBytes { bytes in
            let start = range.lowerBound - first * 8
            return try body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + range.count]))
        }
    }
}

/// Holds files on the disk against the contents that were served.
enum ContentCheck {
    private static let chunk = 1 << 18

    /// Why a finished file is not exactly one of the versions of its source; `nil` when it is.
    static func complaint(about path: String, file: Int, size: Int, versions: ClosedRange<Int>) throws -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return "there is no file" }
        guard Int(status.st_size) == size else { return "has \(status.st_size) bytes, not \(size)" }
        var furthest = 0
        for version in versions {
            let content = VersionedContent(file: file, version: version)
            guard let wrong = try firstDifference(in: path, 0..<size, from: content) else { return nil }
            furthest = max(furthest, wrong)
        }
        return "is none of the versions \(versions); the nearest differs at byte \(furthest)"
    }

    /// The first byte of a range that is not the content's, or not there; `nil` when all are right.
    static func firstDifference(in path: String, _ range: Range<Int>, from content: VersionedContent) throws -> Int? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return range.lowerBound }
        defer { close(file) }
        var window = ContentWindow(capacity: chunk)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
        defer { buffer.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            try Signals.check()
            let wanted = min(chunk, range.upperBound - position)
            let count = pread(file, buffer.baseAddress, wanted, off_t(position))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw BenchmarkError.system("cannot read \(path)") }
            guard count > 0 else { return position }
            let found = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            let wrong = window.withBytes(of: content, in: position..<position + count) { right -> Int? in
                // Equal bytes are the rule, and memcmp is faster than any loop here.
                if let a = right.baseAddress, let b = found.baseAddress, memcmp(a, b, count) == 0 { return nil }
                return zip(right, found).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            }
            if let wrong { return position + wrong }
            position += count
        }
        return nil
    }
}
