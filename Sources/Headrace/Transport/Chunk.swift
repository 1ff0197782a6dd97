import HeadracePlatform

/// A buffer that contains consecutive bytes of a response body.
package struct Chunk: Sendable {
    private var storage: [UInt8]
    /// The position of the valid bytes in the buffer; the bytes before them were moved to other chunks.
    private var filled = 0..<0
    /// The number of valid bytes.
    package var count: Int { filled.count }

    init(capacity: Int) {
        storage = [UInt8](repeating: 0, count: capacity)
    }

    var capacity: Int { storage.count }
    var isFull: Bool { filled.upperBound == storage.count }

    /// Appends as many of the given bytes as fit, and returns their number.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, storage.count - filled.upperBound)
        guard taken > 0, let source = bytes.baseAddress else { return 0 }
        let end = filled.upperBound
        storage.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            _ = memcpy(start + end, source, taken)
        }
        filled = filled.lowerBound..<end + taken
        return taken
    }

    /// Moves the first `count` bytes to another chunk, which must be empty and have enough capacity.
    mutating func move(_ count: Int, to other: inout Chunk) {
        withBytes { _ = other.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        filled = filled.lowerBound + count..<filled.upperBound
    }

    mutating func removeAll() {
        filled = 0..<0
    }

    /// Calls a closure with the valid bytes and returns its result.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try storage.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[filled])) }
    }
}

/// A pool of unused buffers, so that a transfer does not allocate a buffer for each chunk.
package final class ChunkPool: Sendable {
    /// The maximum total size of unused buffers, in bytes; a buffer that would exceed it is freed.
    private static let maxIdleBytes = 4 << 20

    private struct Idle {
        var chunks: [Int: [Chunk]] = [:]
        var bytes = 0
    }

    private let idle = Locked(Idle())

    /// Creates an empty pool.
    package init() {}

    func take(capacity: Int) -> Chunk {
        let chunk = idle.withLock { idle -> Chunk? in
            guard let chunk = idle.chunks[capacity]?.popLast() else { return nil }
            idle.bytes -= capacity
            return chunk
        }
        return chunk ?? Chunk(capacity: capacity)
    }

    func give(_ chunk: consuming Chunk) {
        var chunk = chunk
        chunk.removeAll()
        let size = chunk.capacity
        idle.withLock { [chunk] idle in
            guard idle.bytes + size <= Self.maxIdleBytes else { return }
            idle.chunks[size, default: []].append(chunk)
            idle.bytes += size
        }
    }
}
