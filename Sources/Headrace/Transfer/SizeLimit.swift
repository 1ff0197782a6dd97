/// The maximum size of a file.
struct SizeLimit: Sendable, Hashable {
    let maxBytes: Int64?

    /// Throws `fileTooLarge` if `bytes`, the smallest possible size of a file, exceeds the limit.
    func check(_ bytes: Int64) throws(DownloadError) {
        guard let maxBytes, bytes > maxBytes else { return }
        throw DownloadError(
            .fileTooLarge,
            "The file is larger than the limit of \(maxBytes) bytes. Raise the limit to download it."
        )
    }
}

extension BodyPlacement {
    /// The size of the file in bytes or, if it is unknown, the smallest possible size.
    var minFileSize: Int64 { totalBytes ?? offset + (length ?? 0) }
}
