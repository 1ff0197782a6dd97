/// The priority of a download: waiting downloads start in order of priority, highest first, then of position in the queue.
///
///     request.priority = .high
///     download.setPriority(5)
public struct DownloadPriority: RawRepresentable, Sendable, Hashable {
    /// Starts after downloads with `normal`: -10.
    public static let low = DownloadPriority(rawValue: -10)
    /// The default: 0.
    public static let normal = DownloadPriority(rawValue: 0)
    /// Starts before downloads with `normal`: 10.
    public static let high = DownloadPriority(rawValue: 10)

    /// The numeric priority.
    public let rawValue: Int

    /// Creates a priority from any number.
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
