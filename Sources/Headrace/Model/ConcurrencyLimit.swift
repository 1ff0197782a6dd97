/// The number of downloads that may run in parallel.
///
///     let configuration = DownloadConfiguration {
///         $0.maxConcurrentDownloads = .automatic
///     }
///
/// An automatic limit suits many files of unknown size. It is high for small files, whose time is mostly spent waiting
/// for the server, and low for large files, of which a few use the whole bandwidth. It drops if a server refuses
/// requests. See <doc:Queues>.
public struct ConcurrencyLimit: Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The maximum number of running downloads, which is never exceeded.
    public let maximum: Int
    /// Whether the manager chooses the number of running downloads, up to ``maximum``.
    public let isAutomatic: Bool

    /// A number that the manager chooses, up to 64.
    public static let automatic = automatic(upTo: 64)

    /// Returns a number that the manager chooses, up to the given number.
    /// - Parameter maximum: The maximum number of running downloads, at least 1.
    /// - Returns: The limit.
    public static func automatic(upTo maximum: Int) -> ConcurrencyLimit {
        ConcurrencyLimit(maximum: maximum, isAutomatic: true)
    }

    /// Returns a fixed number.
    /// - Parameter number: The maximum number of running downloads, at least 1.
    /// - Returns: The limit.
    public static func fixed(_ number: Int) -> ConcurrencyLimit {
        ConcurrencyLimit(maximum: number, isAutomatic: false)
    }

    /// Creates a limit with a fixed number.
    /// - Parameter value: The maximum number of running downloads, at least 1.
    public init(integerLiteral value: Int) {
        self.init(maximum: value, isAutomatic: false)
    }

    private init(maximum: Int, isAutomatic: Bool) {
        (self.maximum, self.isAutomatic) = (maximum, isAutomatic)
    }

    /// Throws `invalidRequest` if the limit is below 1.
    func validate() throws(DownloadError) {
        guard maximum < 1 else { return }
        throw DownloadError(.invalidRequest, "The limit on running downloads must be at least 1, not \(maximum).")
    }
}
