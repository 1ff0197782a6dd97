import HeadracePlatform

extension DownloadRequest {
    /// The maximum number of mirrors in a request.
    private static let maxMirrors = 64
    /// The maximum size of ``userData``, in bytes.
    private static let maxUserDataBytes = 64 << 10

    /// Throws `invalidRequest` if a property of the request is invalid, such as a URL or the destination.
    ///
    /// ``DownloadManager/download(_:)-(DownloadRequest)`` performs the same validation.
    /// - Throws: `invalidRequest` with a sentence for the user.
    public func validate() throws(DownloadError) {
        do throws(DownloadError) {
            try url.validate()
        } catch {
            // Attaching the URL would reveal the credentials that the message hides.
            throw url.absoluteString.utf8.contains(UInt8(ascii: "@")) ? error : error.about(url)
        }
        do throws(DownloadError) {
            guard mirrors.count <= Self.maxMirrors else {
                throw DownloadError(
                    .invalidRequest,
                    "The request has \(mirrors.count) mirrors; the maximum is \(Self.maxMirrors)."
                )
            }
            for mirror in mirrors { try mirror.validate() }
            if let identity, identity.isEmpty || URL(string: identity) == nil {
                throw DownloadError(.invalidRequest, "\"\(identity.printable)\" is no identity: use a name or a URL.")
            }
            for field in headers { try field.validate() }
            if let userData, userData.count > Self.maxUserDataBytes {
                throw DownloadError(
                    .invalidRequest,
                    "The userData of the request has \(userData.count) bytes; the maximum is \(Self.maxUserDataBytes)."
                )
            }
            try validateMethod()
            try validateDestination()
            try validateExpectations()
            try rateLimit?.validateAsRate()
            guard connectTimeout ?? .seconds(1) > .zero, stallTimeout ?? .seconds(1) > .zero, maxRetries ?? 0 >= 0
            else {
                throw DownloadError(
                    .invalidRequest,
                    "connectTimeout and stallTimeout must be above zero, and maxRetries at least zero."
                )
            }
        } catch {
            throw error.about(url)
        }
    }

    private func validateExpectations() throws(DownloadError) {
        if let algorithm = checksums.contradiction {
            throw DownloadError(.invalidRequest, "The request has two \(algorithm) checksums that differ.")
        }
        guard let expectedSize else { return }
        guard expectedSize >= 0 else {
            throw DownloadError(.invalidRequest, "The expected size must be at least 0 bytes, not \(expectedSize).")
        }
        guard pieceHashes?.fit(fileSize: expectedSize) ?? true else {
            throw DownloadError(
                .invalidRequest,
                "The expected size of \(expectedSize) bytes does not match the piece hashes."
            )
        }
    }

    private func validateDestination() throws(DownloadError) {
        switch destination {
        case .file(let file), .directory(let file):
            if let fault = file.fileFault {
                throw DownloadError(.invalidRequest, "The destination \(file.absoluteString) \(fault).")
            }
        }
        if case .file(let file) = destination, file.hasDirectoryPath {
            throw DownloadError(
                .invalidRequest,
                "The destination \(file.filePath) is a directory: write .directory(url), or append a file name."
            )
        }
        if case .file(let file) = destination, !SafeFileName.isComponent(file.lastPathComponent) {
            let isLong = file.lastPathComponent.utf8.count > SafeFileName.maxBytes
            throw DownloadError(
                .invalidRequest,
                "The destination \(file.filePath) has "
                    + (isLong ? "a file name of more than \(SafeFileName.maxBytes) bytes." : "no file name.")
            )
        }
    }
}
