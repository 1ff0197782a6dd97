/// The identity of a download, in its manager's queue and in the registry.
public struct DownloadID: Sendable, Hashable, LosslessStringConvertible {
    /// The identity as a number.
    public let rawValue: UInt64

    /// Creates an identity from its number.
    /// - Parameter rawValue: The number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Returns a random identity, which is almost certainly not in use.
    package static func random() -> DownloadID {
        var system = SystemRandomNumberGenerator()
        return random(using: &system)
    }

    /// Returns a random identity from the given generator; it is almost certainly not in use.
    static func random(using random: inout some RandomNumberGenerator) -> DownloadID {
        DownloadID(rawValue: .random(in: .min ... .max, using: &random))
    }

    /// The identity as sixteen hexadecimal digits.
    public var description: String { rawValue.hexadecimal }

    /// Parses an identity; `nil` if the text is not sixteen hexadecimal digits.
    /// - Parameter description: The text, as in ``description``.
    public init?(_ description: String) {
        guard let rawValue = UInt64(hexadecimal: description.lowercased().utf8) else { return nil }
        self.init(rawValue: rawValue)
    }
}
