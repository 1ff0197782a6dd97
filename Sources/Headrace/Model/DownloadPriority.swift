/// Decides, before the order of the list, which of the waiting downloads runs next; the greater, the sooner.
public struct DownloadPriority: RawRepresentable, Sendable, Hashable {
    /// After those with `normal`.
    public static let low = DownloadPriority(rawValue: -10)
    /// That of every download at first: 0.
    public static let normal = DownloadPriority(rawValue: 0)
    /// Before those with `normal`.
    public static let high = DownloadPriority(rawValue: 10)

    /// The number that is compared.
    public let rawValue: Int

    /// Creates a priority from any number.
    /// - Parameter rawValue: The number that is compared.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }
}

extension DownloadPriority: Comparable, ExpressibleByIntegerLiteral {
    /// Compares the numbers.
    /// - Parameters:
    ///   - lhs: A priority.
    ///   - rhs: Another priority.
    /// - Returns: True when the first is less urgent.
    public static func < (lhs: DownloadPriority, rhs: DownloadPriority) -> Bool {
        lhs.rawValue < rhs.rawValue
    }

    /// Creates a priority from a literal.
    /// - Parameter value: The number that is compared.
    public init(integerLiteral value: Int) {
        self.init(rawValue: value)
    }
}
