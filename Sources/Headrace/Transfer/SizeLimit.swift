/// The maximum size of a file.
struct SizeLimit: Sendable, Hashable {
    let maxBytes: Int64?

    /// Throws `fileTooLarge` if a file of this size, or a larger one, is not allowed.
    func check(_ bytes: Int64) throws(DownloadError) {
        guard let maxBytes, bytes > maxBytes else { return }
        throw DownloadError(
            .fileTooLarge,
            "The file is larger than the limit of \(maxBytes) bytes. Raise the limit to download it."
        )
    }
}

extension BodyPlacement {
    /// The known size of the file, or a lower bound for it.
    var minFileSize: Int64 { totalBytes ?? offset + (length ?? 0) }
}
