#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension DownloadManager {
    /// The settings of a manager, fixed when it is made.
    public struct Configuration: Sendable {
        /// How many downloads run at once; at least 1.
        public var maxConcurrentDownloads = 4
        /// How long a connection may take to be made, TLS included.
        public var connectTimeout: Duration = .seconds(15)
        /// How long no byte may come before a transfer counts as stalled.
        public var stallTimeout: Duration = .seconds(30)
        /// How many redirects one request may follow.
        public var maxRedirects = 20
        /// Whether a redirect from https to http is followed.
        public var allowsInsecureRedirects = false
        /// A PEM file of certificate authorities that replaces the system's.
        public var certificateAuthorities: URL?
        /// The `User-Agent` field of each request.
        public var userAgent = "headrace/\(headraceVersion)"

        /// Creates a configuration and changes what the closure changes.
        /// - Parameter configure: Receives the defaults to change.
        public init(_ configure: (inout Configuration) -> Void = { _ in }) {
            configure(&self)
        }

        func validate() throws(DownloadError) {
            guard maxConcurrentDownloads >= 1 else {
                throw DownloadError(
                    .invalidRequest,
                    "maxConcurrentDownloads is \(maxConcurrentDownloads); 1 is the least."
                )
            }
            guard connectTimeout > .zero, stallTimeout > .zero else {
                throw DownloadError(.invalidRequest, "A timeout must be longer than nothing.")
            }
            if let file = certificateAuthorities, !file.isFileURL {
                throw DownloadError(.invalidRequest, "certificateAuthorities is no file URL: \(file.absoluteString).")
            }
        }
    }
}

/// The library's version, as in `0.1.0`.
public let headraceVersion = "0.1.0"
