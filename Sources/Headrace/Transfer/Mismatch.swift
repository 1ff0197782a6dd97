import HeadracePlatform

/// The difference between a complete file and its expected size or checksums.
///
/// `FileVerifier` finds it, `TransferState` decides what follows, and `FileCompletion` and `WrongFile` carry that out.
struct Mismatch {
    /// The error that states the expected and the actual value.
    let error: DownloadError
    /// The actual checksum of the file, if it was computed.
    var found: Checksum?
    /// The ranges of the wrong bytes and the number of wrong pieces; `nil` if the wrong bytes cannot be located.
    private(set) var bad: (ranges: ByteRangeSet, pieces: Int)?
    /// Whether the bytes were correct when received and were changed on the disk later, so that no source is at fault.
    private(set) var isDiskFailure = false
    /// Whether the bytes are the whole file as the source sends it, so that the file may be saved; `false` if receiving
    /// stopped after the expected size, or if the bytes are encoded.
    var isWhole = true

    init(error: DownloadError, found: Checksum? = nil, isWhole: Bool = true) {
        self.error = error
        self.found = found
        self.isWhole = isWhole
    }

    /// Returns a copy of the mismatch that states which bytes are wrong.
    func limited(to ranges: ByteRangeSet, pieces: Int, isDiskFailure: Bool = false) -> Mismatch {
        var mismatch = self
        mismatch.bad = (ranges, pieces)
        mismatch.isDiskFailure = isDiskFailure
        return mismatch
    }

    /// Returns the error for a file of the wrong size.
    static func wrongSize(of path: String, _ size: Int64, expected: Int64) -> DownloadError {
        let found = size > expected ? "more than \(expected) bytes" : "\(size) bytes"
        return DownloadError(.checksum, "\(path) has the wrong size: it has \(found), but \(expected) are expected.")
    }

    /// Returns the error for a file with a wrong checksum.
    static func wrongChecksum(
        of path: String,
        _ expected: Checksum,
        found: Checksum,
        isFromServer: Bool
    ) -> DownloadError {
        DownloadError(
            .checksum,
            "\(path) is complete but wrong: its \(found.algorithm) checksum is \(found.hexadecimal), but "
                + "\(expected.hexadecimal) \(isFromServer ? "is what the server sent" : "is expected")."
        )
    }
}

extension DownloadError {
    /// Returns the error with `sentence` appended to its message.
    func followed(by sentence: String) -> DownloadError {
        var error = self
        error.message += " \(sentence)"
        return error
    }
}
