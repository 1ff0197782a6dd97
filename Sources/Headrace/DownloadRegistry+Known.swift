extension DownloadRegistry {
    /// A download in the queue on the disk.
    struct Known: Sendable {
        let id: DownloadID
        var number = 0
        var expectations = FileExpectations()
        var requiresPublicAddress = false
        var isActive = true

        func includes(_ request: DownloadRequest) -> Bool { !request.expectations.addInformation(than: expectations) }

        /// Returns the expectations of this download and of a request together.
        ///
        /// Throws `invalidRequest` if the expectations contradict each other, or if the request requires public
        /// addresses and this download does not.
        @discardableResult
        func expectations(joinedBy request: DownloadRequest) throws(DownloadError) -> FileExpectations {
            guard requiresPublicAddress || !request.requiresPublicAddress else {
                throw .unrestrictedTwin(of: request.url)
            }
            return try expectations.adding(request.expectations, of: request.url)
        }
    }
}

extension [DownloadRegistry.Known] {
    /// Finds the download of a posted request among these downloads of one file: the new download, or the existing one
    /// that the request was merged into.
    /// - Parameters:
    ///   - request: The request, which a manager has carried out.
    ///   - id: The identity that the request was posted with.
    /// - Returns: The identity of the download; `nil` if the manager skipped the request, or the download was removed.
    /// - Throws: `invalidRequest` if one of these downloads is active, but cannot serve the request.
    func identity(of request: DownloadRequest, posted id: DownloadID) throws(DownloadError) -> DownloadID? {
        if let active = first(where: \.isActive) {
            try active.expectations(joinedBy: request)
            return active.id
        }
        // All have ended. The request was merged into one, which then has its expectations, or was added as `id`.
        let suitable = filter { $0.includes(request) }
        if let latest = suitable.max(by: { $0.number < $1.number }), !suitable.contains(where: { $0.id == id }) {
            return latest.id
        }
        return contains { $0.id == id && (try? $0.expectations(joinedBy: request)) != nil } ? id : nil
    }
}
