import HeadracePlatform

/// Creates the served files, from random numbers so that they are incompressible and all different.
///
/// Creating and comparing use small buffers, so that this process takes as little of the machine as possible.
enum SourceFile {
    private static let chunk = 65_536
    #if canImport(Darwin)
    private static let seekData = SEEK_DATA
    #else
    // SEEK_DATA, which the C library declares only if extensions are enabled.
    private static let seekData: Int32 = 3
    #endif

    /// Writes `size` bytes that depend only on `seed`.
    static func make(_ path: String, size: Int, seed: UInt64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(descriptor) }
        var numbers = SplitMix(seed: seed)
        var words = [UInt64](repeating: 0, count: chunk / 8)
        var left = size
        while left > 0 {
            try Signals.check()
            for index in words.indices { words[index] = numbers.next() }
            let count = min(left, chunk)
            let written = words.withUnsafeBytes {
                FileSystem.writeAll(UnsafeRawBufferPointer(rebasing: $0.prefix(count)), to: descriptor)
            }
            guard written else { throw BenchmarkError.system("cannot write \(path)") }
            left -= count
        }
    }

    /// Makes a sparse file, with random data around each multiple of 64 MiB and at its end.
    ///
    /// This reveals data in a wrong position, including offsets that overflow 31 or 32 bits.
    static func makeSparse(_ path: String, size: Int, seed: UInt64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw BenchmarkError.system("cannot lengthen \(path)") }
        var numbers = SplitMix(seed: seed)
        for middle in Array(stride(from: 0, to: size, by: 64 << 20)) + [size] {
            let start = max(0, middle - chunk / 2)
            let count = min(middle + chunk / 2, size) - start
            let words = (0..<chunk / 8).map { _ in numbers.next() }
            let written = words.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, count, off_t(start)) }
            guard written == count else { throw BenchmarkError.system("cannot write \(path)") }
        }
    }

    /// Compares a downloaded file with its source byte by byte, and describes the difference; `nil` if they are equal.
    ///
    /// Holes of the source are not read, because they are zeros.
    static func difference(of path: String, from source: String) throws -> String? {
        let fetched = open(path, O_RDONLY | O_CLOEXEC)
        guard fetched >= 0 else { return "there is no file" }
        defer { close(fetched) }
        let original = open(source, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard original >= 0, fstat(original, &status) == 0 else { throw BenchmarkError.system("cannot open \(source)") }
        defer { close(original) }

        let left = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: 16)
        let right = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: 16)
        let zeros = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: 16)
        zeros.initializeMemory(as: UInt8.self, repeating: 0, count: chunk)
        defer {
            for buffer in [left, right, zeros] { buffer.deallocate() }
        }
        let size = Int(status.st_size)
        var offset = 0
        var holeEnd = 0
        while true {
            try Signals.check()
            if offset >= holeEnd { holeEnd = endOfHole(in: original, at: offset, size: size) }
            let isHole = offset + chunk <= holeEnd
            let got = fill(left, from: fetched, at: offset)
            let wanted = isHole ? chunk : fill(right, from: original, at: offset)
            guard got >= 0, wanted >= 0 else { throw BenchmarkError.system("cannot read \(path) or its source") }
            let common = min(got, wanted)
            let expected = isHole ? zeros : right
            if memcmp(left, expected, common) != 0 {
                let first = (0..<common).first {
                    left.load(fromByteOffset: $0, as: UInt8.self) != expected.load(fromByteOffset: $0, as: UInt8.self)
                }
                return "differs at byte \(offset + (first ?? 0))"
            }
            offset += common
            if got < wanted { return "ends at byte \(offset), too early" }
            if got > wanted { return "continues after byte \(offset), where the source ends" }
            if got == 0 { return nil }
        }
    }

    /// Returns the end of the hole at an offset, or the offset itself if it is not known to be in a hole.
    private static func endOfHole(in descriptor: Int32, at offset: Int, size: Int) -> Int {
        let data = lseek(descriptor, off_t(offset), seekData)
        if data >= 0 { return Int(data) }
        return errno == ENXIO ? size : offset
    }

    /// Reads a whole chunk, or up to the end of the file; -1 on an error.
    private static func fill(_ buffer: UnsafeMutableRawPointer, from descriptor: Int32, at offset: Int) -> Int {
        var count = 0
        while count < chunk {
            let got = pread(descriptor, buffer + count, chunk - count, off_t(offset + count))
            if got < 0 {
                if errno == EINTR { continue }
                return -1
            }
            if got == 0 { break }
            count += got
        }
        return count
    }
}
