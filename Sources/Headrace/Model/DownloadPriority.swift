/// The priority of a download: waiting downloads start in order of priority, highest first, and then of queue position.
///
///     request.priority = .high
///     download.setPriority(5)
public struct DownloadPriority: RawRepresentable, Sendable, Hashable {
    /// A priority below ``normal``; its raw value is -10.
    public static let low = DownloadPriority(rawValue: -10)
    /// The default priority; its raw value is 0.
    public static let normal = DownloadPriority(rawValue: 0)
    /// A priority above ``normal``; its raw value is 10.
    public static let high = DownloadPriority(rawValue: 10)

    /// The numeric priority.
    public let rawValue: Int

    /// Creates a priority from any number; a higher number is a higher priority.
    /// - Parameter rawValue: The numeric priority.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }
}

extension DownloadPriority: Comparable, ExpressibleByIntegerLiteral {
    /// Compares two priorities.
    /// - Parameters:
    ///   - lhs: A priority.
    ///   - rhs: Another priority.
    /// - Returns: Whether the first is lower.
    public static func < (lhs: DownloadPriority, rhs: DownloadPriority) -> Bool {
        lhs.rawValue < rhs.rawValue
    }

    /// Creates a priority from a literal.
    /// - Parameter value: The numeric priority.
    public init(integerLiteral value: Int) {
        self.init(rawValue: value)
    }
}
