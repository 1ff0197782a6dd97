import HeadracePlatform

extension DownloadRequest {
    /// The URL by which partial files, resume records and saved validators are found.
    ///
    /// This is ``identity``, parsed as a URL. If there is no identity, it is ``url`` without the signature of a signed
    /// link.
    var key: URL { identity.flatMap { URL(string: $0) } ?? url.withoutSignature }

    /// Returns the URL by which the saved validator of a file from `source` is found.
    ///
    /// This is ``key`` for the URL of the request, and the mirror's own URL for a mirror.
    func key(of source: URL) -> URL { source == url ? key : source }
}
