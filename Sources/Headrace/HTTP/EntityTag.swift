/// An entity tag (RFC 9110, section 8.8.3).
///
/// Tags with non-ASCII bytes are rejected although the grammar allows them: the decoded text does not preserve the
/// original bytes, and a tag must be sent back byte for byte.
struct EntityTag: Sendable, Hashable {
    /// The tag as received, with its quotes and `W/`.
    let text: String

    /// Parses a tag; returns `nil` unless the text is exactly one tag.
    init?(parsing text: String) {
        let isTag = text.withBytes { bytes in
            let quoted = bytes.starts(with: Self.weakness.utf8) ? bytes.dropFirst(Self.weakness.utf8.count) : bytes[...]
            let quote = UInt8(ascii: "\"")
            return quoted.count >= 2 && quoted.first == quote && quoted.last == quote
                && quoted.dropFirst().dropLast().allSatisfy { (0x21...0x7e).contains($0) && $0 != quote }
        }
        guard isTag else { return nil }
        self.text = text
    }

    private static let weakness = "W/"

    /// Whether the tag is weak; versions with different bytes may share a weak tag.
    var isWeak: Bool { text.hasPrefix(Self.weakness) }

    /// Whether the tags match by the strong comparison (section 8.8.3.2), the only one that guarantees identical bytes.
    func provesSameBytes(as other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && text == other.text
    }

    /// Whether the tags match by the weak comparison, which ignores `W/`.
    func isWeaklyEqual(to other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private var opaque: Substring { isWeak ? text.dropFirst(Self.weakness.count) : text[...] }
}
