#if canImport(Darwin)
public import Foundation
#endif

extension DownloadConfiguration {
    /// The choice of the HTTP implementation; see <doc:Transports> for the differences.
    public struct TransportChoice: Sendable {
        enum Kind {
            case automatic
            case libcurl
            case urlSession
            #if canImport(Darwin)
            case configuredURLSession(URLSessionConfiguration)
            #endif
        }

        let kind: Kind

        /// libcurl on Linux, and `URLSession` on Apple platforms.
        public static let automatic = TransportChoice(kind: .automatic)
        /// The system's libcurl, loaded at run time; available only on Linux.
        public static let libcurl = TransportChoice(kind: .libcurl)
        /// Foundation's `URLSession`.
        ///
        /// On Linux it is available only if the package is built with the trait `URLSession`, which is for tests:
        /// without back-pressure, memory grows if the disk is slower than the network.
        public static let urlSession = TransportChoice(kind: .urlSession)

        #if canImport(Darwin)
        /// `URLSession` with a custom configuration, for example for a company's proxies.
        ///
        /// The library overrides the settings for caching, cookies, credentials, timeouts, connections per host,
        /// waiting for connectivity and the minimum TLS version. A background configuration is an error.
        /// - Parameter configuration: The configuration, which is copied.
        /// - Returns: The transport choice.
        public static func urlSession(_ configuration: URLSessionConfiguration) -> TransportChoice {
            TransportChoice(kind: .configuredURLSession(configuration))
        }
        #endif
    }
}
