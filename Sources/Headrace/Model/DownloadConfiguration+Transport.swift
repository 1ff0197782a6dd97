#if canImport(Darwin)
public import Foundation
#endif

extension DownloadConfiguration {
    /// What carries the requests; see <doc:Transports> for what each of them can.
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
        /// The system's libcurl, loaded at run time, which is on Linux alone.
        public static let libcurl = TransportChoice(kind: .libcurl)
        /// Foundation's `URLSession`.
        ///
        /// On Linux it is there where the package is built with its trait `URLSession`, for tests: Foundation's own there
        /// has no back-pressure, so that memory grows where a disk is slower than the network.
        public static let urlSession = TransportChoice(kind: .urlSession)

        #if canImport(Darwin)
        /// `URLSession` with settings of the caller's, as for the proxies of a company or the networks that may be used.
        ///
        /// Caching, cookies, credentials, time-outs, connections per host, waiting for connectivity and the least version
        /// of TLS are the library's in any case. A background configuration is an error.
        /// - Parameter configuration: The settings, which are copied.
        /// - Returns: The choice.
        public static func urlSession(_ configuration: URLSessionConfiguration) -> TransportChoice {
            TransportChoice(kind: .configuredURLSession(configuration))
        }
        #endif
    }
}
