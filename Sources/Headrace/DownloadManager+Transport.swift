extension DownloadManager {
    /// Loads the HTTP library ahead of the first manager, so that this can overlap with other preparations.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }
}
