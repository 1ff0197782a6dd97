import HeadracePlatform

extension String {
    /// Calls `body` with the contiguous UTF-8 bytes of the text; several times faster than iterating over `utf8`.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether the text contains `character`, which must be ASCII.
    func has(_ character: Unicode.Scalar) -> Bool {
        withBytes { bytes in bytes.baseAddress.map { memchr($0, Int32(character.value), bytes.count) != nil } ?? false }
    }
}
