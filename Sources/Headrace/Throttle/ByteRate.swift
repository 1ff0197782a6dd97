/// A positive rate in bytes per second, parsed from text such as `500`, `64K` or `1.5M`.
///
/// K, M and G, also written KB or KiB, are powers of 1024; a fraction requires a unit.
package struct ByteRate: Sendable, Hashable {
    /// The reason why a text cannot be parsed as a rate.
    package enum Failure: Error, Hashable {
        case notANumber
        case outOfRange
    }

    /// The rate, always positive.
    package let bytesPerSecond: Int64

    private static let units = ["K", "M", "G"]
    /// The maximum number of fraction digits; with more, the calculation for the largest unit could overflow.
    private static let maxFractionDigits = 9

    /// Parses a rate such as `500`, `64K`, `2m` or `1.5M`.
    /// - Parameter text: The text; a fraction of a byte is dropped.
    /// - Throws: ``Failure`` for anything else, for zero and for a rate that overflows an `Int64`.
    package init(parsing text: String) throws(Failure) {
        let text = Self.withoutByteSign(text)
        // Compares bytes: as a character, the kelvin sign equals a K.
        let unit = Self.units.firstIndex {
            text.utf8.last == $0.utf8.first || text.utf8.last == $0.lowercased().utf8.first
        }
        let number = unit == nil ? text[...] : text.dropLast()
        let parts = number.split(separator: ".", maxSplits: unit == nil ? 0 : 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy(\.isDigits), parts.count == 1 || parts[1].utf8.count <= Self.maxFractionDigits else {
            throw .notANumber
        }
        guard let count = Int64(parts[0]) else { throw .outOfRange }
        let (whole, isTooLarge) = count.multipliedReportingOverflow(by: Self.factor(unit))
        let (rate, overflows) = whole.addingReportingOverflow(parts.count == 1 ? 0 : Self.bytes(parts[1], of: unit))
        guard !isTooLarge, !overflows, rate > 0 else { throw .outOfRange }
        bytesPerSecond = rate
    }

    /// Returns the text without the `B` or `iB` after a unit.
    private static func withoutByteSign(_ text: String) -> Substring {
        for sign in ["ib", "b"] where text.lowercased().utf8.reversed().starts(with: sign.utf8.reversed()) {
            let number = Substring(text.utf8.dropLast(sign.utf8.count))
            if let last = number.utf8.last, "KMGkmg".utf8.contains(last) { return number }
        }
        return text[...]
    }

    /// Returns the number of bytes that the digits after the decimal point stand for; `unit` is an index of ``units``.
    private static func bytes(_ digits: Substring, of unit: Int?) -> Int64 {
        let divisor = digits.utf8.reduce(Int64(1)) { power, _ in power * 10 }
        return (Int64(digits) ?? 0) * factor(unit) / divisor
    }

    /// Creates a rate; `nil` if it is not positive.
    init?(_ bytesPerSecond: Int64) {
        guard bytesPerSecond > 0 else { return nil }
        self.bytesPerSecond = bytesPerSecond
    }

    private static func factor(_ unit: Int?) -> Int64 { unit.map { 1 << (10 * Int64($0 + 1)) } ?? 1 }
}

extension ByteRate: CustomStringConvertible {
    /// The rate as text that is parsed as exactly this rate: a whole number of the largest unit that divides it.
    package var description: String {
        let unit = Self.units.indices.last { bytesPerSecond % Self.factor($0) == 0 }
        return String(bytesPerSecond / Self.factor(unit)) + (unit.map { Self.units[$0] } ?? "")
    }
}
