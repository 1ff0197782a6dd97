#if canImport(Darwin)
public import Foundation
#endif

extension DownloadManager.Configuration {
    /// What carries the requests; see <doc:Transports> for what each of them can.
    public struct TransportChoice: Sendable {
        fileprivate enum Kind {
            case automatic
            case libcurl
            case urlSession
            #if canImport(Darwin)
            case configuredURLSession(URLSessionConfiguration)
            #endif
        }

        fileprivate let kind: Kind

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

    /// Makes the transport that is chosen, or throws where it is not there or cannot do what is set.
    func makeTransport() throws(DownloadError) -> any Transport {
        switch transport.kind {
        case .automatic:
            #if canImport(Darwin)
            return try URLSessionTransport(self)
            #else
            return try makeCurlTransport()
            #endif
        case .libcurl: return try makeCurlTransport()
        case .urlSession:
            #if canImport(Darwin) || URLSession
            return try URLSessionTransport(self)
            #else
            throw DownloadError(
                .transportUnavailable,
                "URLSession is not in this build. Build the package with its trait URLSession, or take libcurl."
            )
            #endif
        #if canImport(Darwin)
        case .configuredURLSession(let base): return try URLSessionTransport(self, on: base)
        #endif
        }
    }

    private func makeCurlTransport() throws(DownloadError) -> any Transport {
        #if os(Linux)
        try CurlTransport(self)
        #else
        throw DownloadError(.transportUnavailable, "libcurl is loaded on Linux alone. Take URLSession.")
        #endif
    }
}

extension DownloadManager {
    /// Loads what the first manager is to work with, so that other preparations need not wait for it.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }
}
