extension DownloadConfiguration {
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
