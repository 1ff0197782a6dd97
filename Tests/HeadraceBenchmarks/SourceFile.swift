#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The files that are served, made of numbers that no compression shortens and no two files share.
///
/// Both making and comparing go through small buffers: this process takes as little of the machine as it can.
enum SourceFile {
    private static let chunk = 65_536

    /// Writes `size` bytes that follow from `seed` alone.
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

    /// Compares a fetched file with its source, byte by byte; says what differs, `nil` when nothing does.
    static func difference(of path: String, from source: String) throws -> String? {
        let fetched = open(path, O_RDONLY | O_CLOEXEC)
        guard fetched >= 0 else { return "there is no file" }
        defer { close(fetched) }
        let original = open(source, O_RDONLY | O_CLOEXEC)
        guard original >= 0 else { throw BenchmarkError.system("cannot open \(source)") }
        defer { close(original) }

        let left = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: 16)
        let right = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: 16)
        defer {
            left.deallocate()
            right.deallocate()
        }
        var offset = 0
        while true {
            try Signals.check()
            let got = fill(left, from: fetched)
            let wanted = fill(right, from: original)
            guard got >= 0, wanted >= 0 else { throw BenchmarkError.system("cannot read \(path) or its source") }
            let common = min(got, wanted)
            if memcmp(left, right, common) != 0 {
                let first = (0..<common).first {
                    left.load(fromByteOffset: $0, as: UInt8.self) != right.load(fromByteOffset: $0, as: UInt8.self)
                }
                return "differs at byte \(offset + (first ?? 0))"
            }
            offset += common
            if got < wanted { return "ends at byte \(offset), too early" }
            if got > wanted { return "goes on after byte \(offset), where the source ends" }
            if got == 0 { return nil }
        }
    }

    /// Reads a whole chunk or what there is until the end; -1 for an error.
    private static func fill(_ buffer: UnsafeMutableRawPointer, from descriptor: Int32) -> Int {
        var count = 0
        while count < chunk {
            let got = read(descriptor, buffer + count, chunk - count)
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
