import HeadracePlatform
import Testing

@testable import Headrace

/// The decoders of the system's libraries.
@Suite(.timeLimit(.minutes(4)), .enabled(if: ContentCoding.decodable.count == 4, "a library is missing"))
struct ContentDecoderTests {
    /// Decodes a file that is divided into pieces; returns `nil` if it is damaged.
    private func decode(
        _ bytes: [UInt8],
        _ coding: ContentCoding,
        by count: Int = .max
    ) throws -> (bytes: [UInt8], isFinished: Bool)? {
        let decoder = try ContentDecoder(coding)
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(count)
            rest = rest.dropFirst(count)
            let isIntact = try piece.withUnsafeBytes { try decoder.decode($0) { decoded += $0 } }
            guard isIntact else { return nil }
        }
        return (decoded, decoder.isFinished)
    }

    @Test func `each coding is decoded in pieces of any size`() throws {
        for (coding, bytes) in EncodedFile.samples {
            for count in [1, 2, 3, 7, .max] {
                let result = try #require(try decode(bytes, coding, by: count))
                #expect(result.bytes == EncodedFile.text && result.isFinished, "\(coding)")
            }
        }
    }

    @Test func `a truncated file is not finished`() throws {
        for (coding, bytes) in EncodedFile.samples {
            for count in 0..<bytes.count {
                let result = try #require(try decode(Array(bytes.prefix(count)), coding))
                #expect(!result.isFinished, "\(coding): \(count) of \(bytes.count) bytes")
            }
        }
    }

    @Test func `bytes after the end are damage`() throws {
        for (coding, bytes) in EncodedFile.samples {
            for surplus in [[0], Array("more".utf8)] as [[UInt8]] {
                let result = try decode(bytes + surplus, coding)
                #expect(result?.isFinished != true, "\(coding): \(surplus)")
            }
        }
    }

    @Test func `a changed byte of a gzip or zlib file is never overlooked`() throws {
        for (coding, bytes) in EncodedFile.samples where coding == .gzip || coding == .deflate {
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 0x40
                let result = try decode(changed, coding)
                // The time, the flags and the system in the header of a gzip file have no effect.
                #expect(result?.isFinished != true || result?.bytes == EncodedFile.text, "\(coding) \(index)")
            }
        }
    }

    @Test func `several members and frames are decoded as one file`() throws {
        for (coding, bytes) in EncodedFile.samples where coding == .gzip || coding == .zstd {
            for count in [1, bytes.count, .max] {
                let result = try #require(try decode(bytes + bytes + bytes, coding, by: count))
                #expect(result.isFinished)
                #expect(result.bytes == EncodedFile.text + EncodedFile.text + EncodedFile.text)
            }
        }
    }

    @Test func `a file that is not compressed passes through several buffers`() throws {
        let bytes = Array(DiskFixture.bytes.prefix(700_000))
        for count in [100_000, .max] {
            let result = try #require(try decode(EncodedFile.gzip(bytes), .gzip, by: count))
            #expect(result.bytes == bytes && result.isFinished)
        }
        let empty = try #require(try decode(EncodedFile.gzip([]), .gzip))
        #expect(empty.bytes.isEmpty && empty.isFinished)
    }

    @Test func `a cancelled task stops between two buffers`() async throws {
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    withUnsafeCurrentTask { $0?.cancel() }
                    var buffers = 0
                    let decoder = try ContentDecoder(.br)
                    defer { #expect(buffers == 1) }
                    _ = try EncodedFile.bomb.withUnsafeBytes { bytes in
                        try decoder.decode(bytes) { _ in buffers += 1 }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
