import HeadracePlatform

/// Content that depends only on file, version and offset, so that it can be checked without storing it.
struct VersionedContent: Sendable {
    private let base: UInt64

    init(file: Int, version: Int) {
        base = SplitMix.mixed(SplitMix.mixed(UInt64(file) &+ 1) &+ UInt64(version) &* SplitMix.step)
    }

    /// Returns the eight bytes at `8 * index`.
    func word(at index: Int) -> UInt64 {
        SplitMix.mixed(base &+ UInt64(index) &* SplitMix.step)
    }
}

/// A buffer that generates a range of a content, to send or to compare it.
struct ContentWindow {
    private var words: [UInt64]

    init(capacity: Int) {
        // A range may start and end inside a word.
        words = Array(repeating: 0, count: capacity / 8 + 2)
    }

    /// Calls the body with the bytes of a range, which must not be longer than the capacity.
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

/// Compares files on the disk with the content that was served.
enum ContentCheck {
    private static let chunk = 1 << 18

    /// Describes why a finished file is not exactly one of the versions of its source; `nil` if it is.
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

    /// Returns the first offset in a range that is wrong or missing; `nil` if all bytes are right.
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
                // Bytes are normally equal, and memcmp is faster than a loop.
                if let a = right.baseAddress, let b = found.baseAddress, memcmp(a, b, count) == 0 { return nil }
                return zip(right, found).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            }
            if let wrong { return position + wrong }
            position += count
        }
        return nil
    }
}
