extension Response {
    /// A body: given bytes, or a range of a pattern, which needs no storage whatever its length.
    package enum Body: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
        /// These bytes.
        case bytes([UInt8])
        /// The pattern's bytes at these offsets.
        case pattern(Pattern, Range<Int64>)

        /// The first `size` bytes of a pattern.
        package static func pattern(seed: UInt64 = 1, size: Int64) -> Body {
            .pattern(Pattern(seed: seed), 0..<size)
        }

        /// Creates a body from text.
        /// - Parameter value: Sent as UTF-8.
        package init(stringLiteral value: String) {
            self = .bytes(Array(value.utf8))
        }

        /// Creates a body from bytes.
        /// - Parameter elements: The bytes.
        package init(arrayLiteral elements: UInt8...) {
            self = .bytes(elements)
        }

        /// The number of bytes.
        package var count: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .pattern(_, let range): range.upperBound - range.lowerBound
            }
        }

        /// Returns a part of the body; the range is clamped to the body.
        package func slice(_ range: Range<Int64>) -> Body {
            let range = range.clamped(to: 0..<count)
            return switch self {
            case .bytes(let bytes): .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            case .pattern(let pattern, let whole):
                .pattern(pattern, whole.lowerBound + range.lowerBound..<whole.lowerBound + range.upperBound)
            }
        }

        /// Returns contiguous bytes from an offset: at least one and at most `limit`.
        func run(at offset: Int64, upTo limit: Int64) -> ArraySlice<UInt8> {
            let end = min(count, offset + limit)
            return switch self {
            case .bytes(let bytes): bytes[Int(offset)..<Int(end)]
            case .pattern(let pattern, let range):
                pattern.run(in: range.lowerBound + offset..<range.lowerBound + end)
            }
        }
    }
}
