extension DownloadManager {
    /// Loads what the first manager is to work with, so that other preparations need not wait for it.
    package static func loadTransport() async {
        #if os(Linux)
        await CurlTransport.load()
        #endif
    }
}
