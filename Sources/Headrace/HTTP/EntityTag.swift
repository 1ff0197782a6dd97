/// An entity tag (RFC 9110, section 8.8.3).
///
/// Bytes outside ASCII are refused, though the grammar has them: a field's text does not tell which bytes it came from,
/// and a tag that cannot be echoed byte for byte is of no use.
struct EntityTag: Sendable, Hashable {
    /// The tag as it was sent, with its quotes and `W/`.
    let text: String

    /// Nil where the text is not exactly one tag.
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

    /// True for a tag that two versions may share.
    var isWeak: Bool { text.hasPrefix(Self.weakness) }

    /// The strong comparison of section 8.8.3.2, the only one that proves bytes.
    func provesSameBytes(as other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && text == other.text
    }

    /// The weak comparison: the same but for `W/`.
    func isWeaklyEqual(to other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private var opaque: Substring { isWeak ? text.dropFirst(Self.weakness.count) : text[...] }
}
