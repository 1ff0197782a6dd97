extension DownloadManager {
    /// Loads the HTTP library early, so that creating the first manager does not wait for it.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }
}
