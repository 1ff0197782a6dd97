import HeadracePlatform

extension String {
    /// Calls with the bytes of the text in one piece, which are several times faster to go through than its own view of them.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether there is an ASCII character in the text.
    func has(_ character: Unicode.Scalar) -> Bool {
        withBytes { bytes in bytes.baseAddress.map { memchr($0, Int32(character.value), bytes.count) != nil } ?? false }
    }
}
