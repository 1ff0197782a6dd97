extension DownloadRegistry {
    /// A download in the queue on the disk.
    struct Known: Sendable {
        let id: DownloadID
        var number = 0
        var expectations = FileExpectations()
        var isActive = true

        func includes(_ request: DownloadRequest) -> Bool { !request.expectations.addInformation(than: expectations) }

        /// Throws `invalidRequest` if the download has other expectations than the request.
        func check(_ request: DownloadRequest) throws(DownloadError) {
            _ = try expectations.adding(request.expectations, of: request.url)
        }
    }
}

extension [DownloadRegistry.Known] {
    /// Finds the download that a posted request was added as, or merged into, among these downloads of one file.
    /// - Parameters:
    ///   - request: The request, which a manager has carried out.
    ///   - id: The identity that the request was posted with.
    /// - Returns: The identity of the download; `nil` if the manager skipped the request, or if the download was removed.
    /// - Throws: `invalidRequest` if the active download has other expectations.
    func identity(of request: DownloadRequest, posted id: DownloadID) throws(DownloadError) -> DownloadID? {
        if let active = first(where: \.isActive) {
            try active.check(request)
            return active.id
        }
        // A download may have ended without these expectations, or after the request was merged into it.
        let suitable = filter { $0.includes(request) }
        if let latest = suitable.max(by: { $0.number < $1.number }), !suitable.contains(where: { $0.id == id }) {
            return latest.id
        }
        return contains { $0.id == id && (try? $0.check(request)) != nil } ? id : nil
    }
}
