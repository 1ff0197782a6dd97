/// A limit of bytes per second as people write it: digits, with K, M or G after them for a power of 1024.
package struct ByteRate: Sendable, Hashable {
    /// Why a text is no rate.
    package enum Failure: Error, Hashable {
        case notANumber
        case outOfRange
    }

    /// More than nothing.
    package let bytesPerSecond: Int64

    private static let units = ["K", "M", "G"]

    /// Reads `500`, `64K` or `2m`.
    /// - Parameter text: The text.
    /// - Throws: ``Failure`` for anything else, for nothing and for what an `Int64` does not hold.
    package init(parsing text: String) throws(Failure) {
        // By its bytes: the sign of the kelvin is equal to a K as a character.
        let unit = Self.units.firstIndex {
            text.utf8.last == $0.utf8.first || text.utf8.last == $0.lowercased().utf8.first
        }
        let digits = unit == nil ? text : String(text.dropLast())
        guard let count = Int64(digits: digits) else { throw digits.isDigits ? .outOfRange : .notANumber }
        let (rate, isTooLarge) = count.multipliedReportingOverflow(by: Self.factor(unit))
        guard !isTooLarge, rate > 0 else { throw .outOfRange }
        bytesPerSecond = rate
    }

    /// The rate of a number; nil for nothing and less.
    init?(_ bytesPerSecond: Int64) {
        guard bytesPerSecond > 0 else { return nil }
        self.bytesPerSecond = bytesPerSecond
    }

    private static func factor(_ unit: Int?) -> Int64 {
        unit.map { 1 << (10 * Int64($0 + 1)) } ?? 1
    }
}

extension ByteRate: CustomStringConvertible {
    /// The shortest text for exactly this rate.
    package var description: String {
        let unit = Self.units.indices.last { bytesPerSecond % Self.factor($0) == 0 }
        return String(bytesPerSecond / Self.factor(unit)) + (unit.map { Self.units[$0] } ?? "")
    }
}
