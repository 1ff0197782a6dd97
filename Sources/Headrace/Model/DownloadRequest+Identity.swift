import HeadracePlatform

extension DownloadRequest {
    /// The URL that partial files, resume records and saved validators are found by: that of ``identity``, or ``url``.
    var key: URL { identity.flatMap { URL(string: $0) } ?? url }

    /// Returns the URL by which the saved validator of a file from `source` is found.
    func key(of source: URL) -> URL { source == url ? key : source }
}
