extension DownloadManager {
    /// Loads the HTTP library before the first manager is created, in parallel with other preparations.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }
}
