import HeadracePlatform

extension DownloadRequest {
    /// The URL by which partial files, resume records and saved validators are found.
    ///
    /// This is ``identity``, parsed as a URL, or ``url`` without its signature if there is no identity.
    var key: URL { identity.flatMap { URL(string: $0) } ?? url.withoutSignature }

    /// Returns the URL by which the saved validator of a file from `source` is found: for a mirror, the mirror's URL.
    func key(of source: URL) -> URL { source == url ? key : source }
}
