import HeadracePlatform

extension UnsafeRawBufferPointer {
    /// The position of the first byte with a value; `nil` if there is none.
    func index(of byte: UInt8) -> Int? {
        guard let start = baseAddress, let found = memchr(start, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - start
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes begin with those of `prefix`.
    func begins(with prefix: StaticString) -> Bool {
        guard let start = baseAddress, count >= prefix.utf8CodeUnitCount else { return false }
        return memcmp(start, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
    }
}

extension String {
    /// Calls `body` with the contiguous UTF-8 bytes of the text; several times faster than iterating over `utf8`.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether the bytes of the text begin with those of `prefix`.
    func begins(with prefix: StaticString) -> Bool { withBytes { $0.begins(with: prefix) } }

    /// Whether both texts have the same bytes; strings that `==` considers equal may have different bytes.
    func hasBytes(of other: String) -> Bool {
        withBytes { bytes in other.withBytes { $0.count == bytes.count && $0.elementsEqual(bytes) } }
    }

    /// Whether the text equals `name`, ignoring the case of ASCII letters; `name` must have none in upper case.
    func hasBytes(ofLowercased name: String) -> Bool {
        withBytes { bytes in
            name.withBytes { name in
                bytes.elementsEqual(name) {
                    $0 == $1 || $0 | 0x20 == $1 && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                }
            }
        }
    }

    /// Whether the text contains `character`, which must be ASCII.
    func has(_ character: Unicode.Scalar) -> Bool {
        withBytes { bytes in bytes.baseAddress.map { memchr($0, Int32(character.value), bytes.count) != nil } ?? false }
    }
}
