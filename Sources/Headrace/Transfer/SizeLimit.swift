/// The maximum size of a file.
struct SizeLimit: Sendable, Hashable {
    /// The limit in bytes; `nil` for none.
    let maxBytes: Int64?
    /// Whether the limit is derived from the size of the encoded file.
    private var isRatio = false

    /// The maximum size of a decoded file without a configured limit, as a multiple of its encoded size.
    static let maxRatio: Int64 = 100
    /// The size in bytes up to which a decoded file may exceed ``maxRatio``.
    static let minDecodedBytes: Int64 = 256 << 20

    init(maxBytes: Int64?) {
        self.maxBytes = maxBytes
    }

    /// Creates the limit of a decoded file: `maxBytes` or, if that is `nil`, ``maxRatio`` times the encoded size, and
    /// at least ``minDecodedBytes``.
    init(decoding encodedBytes: Int64, maxBytes: Int64?) {
        let (product, isHuge) = encodedBytes.multipliedReportingOverflow(by: Self.maxRatio)
        self.maxBytes = maxBytes ?? max(Self.minDecodedBytes, isHuge ? .max : product)
        isRatio = maxBytes == nil
    }

    /// Throws `fileTooLarge` if `bytes`, the smallest possible size of a file, exceeds the limit.
    func check(_ bytes: Int64) throws(DownloadError) {
        guard let maxBytes, bytes > maxBytes else { return }
        guard !isRatio else {
            throw DownloadError(
                .fileTooLarge,
                "The decoded file would be larger than \(maxBytes) bytes, which is suspicious for its encoded size. Set a maximum size that allows it, or download it without decoding."
            )
        }
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
