extension DownloadConfiguration {
    /// On Linux, loads libcurl early, so that creating the first manager does not wait for it.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }

    /// Creates the transport that the configuration selects; throws if it is unavailable or does not support a setting.
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
                "URLSession is not included in this build. Enable the package trait URLSession, or use libcurl."
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
        throw DownloadError(.transportUnavailable, "libcurl is supported on Linux only. Use URLSession instead.")
        #endif
    }
}
