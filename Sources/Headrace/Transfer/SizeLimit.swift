/// The most bytes that a file may have.
struct SizeLimit: Sendable, Hashable {
    let maxBytes: Int64?

    /// Throws `fileTooLarge` for a file of so many bytes, or more.
    func check(_ bytes: Int64) throws(DownloadError) {
        guard let maxBytes, bytes > maxBytes else { return }
        throw DownloadError(
            .fileTooLarge,
            "The file is larger than the \(maxBytes) bytes that are allowed. Allow more, or leave it."
        )
    }
}

extension BodyPlacement {
    /// The size of the file as far as the head tells.
    var leastFileSize: Int64 { totalBytes ?? offset + (length ?? 0) }
}
