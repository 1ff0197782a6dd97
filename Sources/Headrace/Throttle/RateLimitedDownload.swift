/// The settings of a download that the rate limits depend on.
///
/// A protocol, so that the rate limits do not depend on the concrete type of a download.
protocol RateLimitedDownload {
    var id: DownloadID { get }
    /// The group whose limit applies to the download; `nil` for none.
    var group: String? { get }
    /// The download's own limit in bytes per second; `nil` for none.
    var rateLimit: Int64? { get }
}
