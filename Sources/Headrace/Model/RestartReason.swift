/// The reason why a download cannot resume from the received bytes and restarts from zero; see
/// ``DownloadEvent/restarted(reason:bytesWasted:)``.
///
///     for await event in download.events {
///         if case .restarted(let reason, let bytes) = event { print("\(reason) \(bytes) bytes are downloaded again.") }
///     }
public enum RestartReason: Error, Sendable, Hashable {
    /// The entity tag of the file changed, or the response has an entity tag although the received bytes came without
    /// one.
    case changedEntityTag
    /// The modification date of the file changed.
    case changedLastModified
    /// The size of the file changed.
    case changedLength(from: Int64, to: Int64)
    /// The server sent neither an entity tag nor a strong `Last-Modified` date with the received bytes.
    case noValidator
    /// The only validator is a date, and the response is from another URL, where another file may have the same date.
    case differentURL
    /// The received bytes were requested with other header fields or another login, and cannot be verified.
    ///
    /// The request has no checksum, and no strong entity tag of a further response can show that the file is the same.
    case differentRequester
    /// The only entity tag is weak, malformed or derived from the size alone.
    case weakValidator
    /// The entity tag became weak: `"x"` is now `W/"x"`.
    case validatorBecameWeak
    /// The response lacks the validator that the server sent with the received bytes.
    case validatorMissing
    /// The bytes that were requested again for comparison differ from the received ones.
    case overlapDiffers
    /// The response contains only the earlier bytes that were requested again for comparison, and no missing ones.
    case overlapMissing
    /// The server sent `Accept-Ranges: none`.
    case rangesRefused
    /// The server sent the whole file although a part was requested.
    case rangeIgnored
    /// The server sent bytes from another position than the requested one.
    case rangeMisplaced(requested: Int64, got: Int64)
    /// The server sent a part of the file without `Content-Range`.
    case missingContentRange
    /// The server sent a part of the file with an invalid `Content-Range`.
    case invalidContentRange
    /// The server sent several ranges in one body although a single range was requested.
    case multipart
    /// The response or the received bytes have a content coding that was not requested, so byte positions do not match
    /// (RFC 9110, section 14.1.2).
    case contentCoding
    /// The response has another content coding than the received bytes, and is therefore another representation.
    case changedContentCoding
    /// The received bytes may be of several versions, and the request no longer has a checksum to verify them.
    case unverified
    /// The received bytes are of a file whose size differs from the expected one.
    case wrongSize(expected: Int64)
    /// The server sent the file over HTTP/2 without its size, so the received bytes may be truncated.
    case unverifiedEnd
    /// The server responded with status 412.
    case preconditionFailed
    /// The server responded with status 416: its file is too short for the request, is shorter than before, or cannot
    /// be verified to be the received version.
    ///
    /// `length` is the size of that file in bytes; `nil` if the response lacks the size.
    case unsatisfiable(length: Int64?)
    /// The server responded with status 416, although its file of `length` bytes includes the requested bytes.
    case partRefused(length: Int64)

    // Found when the download starts or resumes.

    /// ``DownloadConfiguration/resumesPartialDownloads`` is `false`, or the request must not be repeated; see
    /// ``DownloadRequest/isRepeatable``.
    case resumingDisabled
    /// The partial file has no resume record, or a record that belongs to an untrusted user.
    case recordMissing
    /// The resume record is a directory, a link or a device.
    case recordNotAFile
    /// The resume record cannot be decoded.
    case recordDamaged
    /// The resume record is of another URL.
    case recordOfOtherURL
    /// None of the received bytes are known to be on the disk, for example after a power failure or a loss on the disk.
    case bytesNotOnDisk
    /// The partial file was removed or linked under a second name.
    case partialFileGone

    // Found when the file is complete.

    /// The checksum or the size of the complete file is wrong, as the error states.
    case mismatch(DownloadError)

    // In a background session.

    /// The system stopped the download and returned no data to resume it.
    case noResumeData
    /// The system's resume data is damaged.
    case resumeDataInvalid
    /// The system's resume data is more than a week old.
    case resumeDataTooOld
    /// The system rejected its resume data.
    case resumeDataRefused
    /// The system no longer has the download.
    case taskLost
    /// The system removed the file before it could be moved into place.
    case filePurged
    /// The received bytes were not downloaded by the background session.
    case otherBytesHeld

    /// Whether the server lacks usable validators or range support, so that every interruption causes a restart.
    var isUnverifiable: Bool {
        switch self {
        case .noValidator, .differentURL, .weakValidator, .rangesRefused, .rangeIgnored: true
        default: false
        }
    }
}

extension RestartReason: CustomStringConvertible {
    /// The reason as a sentence for the user.
    public var description: String {
        switch self {
        case .changedEntityTag: "The file changed on the server: its entity tag is different."
        case .changedLastModified: "The file changed on the server: its modification date is different."
        case .changedLength(let old, let new): "The file changed on the server: it had \(old) bytes and now has \(new)."
        case .noValidator: "The server sent no validator to show that the file is unchanged."
        case .differentURL: "The file now comes from another URL, and its date does not show that it is unchanged."
        case .differentRequester: "The received bytes were requested with other header fields or another login."
        case .weakValidator:
            "The server's entity tag is weak, malformed or based on the size, and does not show that the file is unchanged."
        case .validatorBecameWeak: "The server's entity tag became weak and does not show that the file is unchanged."
        case .validatorMissing: "The response lacks the validator that the received bytes came with."
        case .overlapDiffers: "The file changed on the server: its bytes differ from the last ones received."
        case .overlapMissing: "The response was too short to compare it with the received bytes."
        case .rangesRefused: "The server does not support range requests."
        case .rangeIgnored: "The server sent the whole file instead of the rest."
        case .rangeMisplaced(let requested, let got):
            "The server sent bytes from position \(got) instead of \(requested)."
        case .missingContentRange: "The server sent a part of the file without a Content-Range."
        case .invalidContentRange: "The server sent a part of the file with an invalid Content-Range."
        case .multipart: "The server sent several parts although one was requested."
        case .contentCoding: "The server encodes the file, so its parts cannot be combined."
        case .changedContentCoding: "The server sends the file in another content coding than before."
        case .unverified: "The received bytes need a checksum to verify them, and the request no longer has one."
        case .wrongSize(let expected): "The received bytes do not fit the expected size of \(expected) bytes."
        case .unverifiedEnd: "The server sent the file over HTTP/2 without its size, so it may be truncated."
        case .preconditionFailed: "The file changed on the server, which refused to send the rest."
        case .unsatisfiable(let length?): "The server has only \(length) bytes and cannot send the rest."
        case .unsatisfiable(nil): "The server cannot send the rest."
        case .partRefused(let length): "The server refused to send the rest, although it has \(length) bytes."
        case .resumingDisabled: "Resuming the bytes of an earlier run is disabled."
        case .recordMissing: "It is unknown which version of the file the received bytes belong to."
        case .recordNotAFile: "The resume record is not a regular file."
        case .recordDamaged: "The resume record is damaged."
        case .recordOfOtherURL: "The received bytes are of another URL."
        case .bytesNotOnDisk: "None of the received bytes are known to be on the disk."
        case .partialFileGone:
            "The partial file is gone: it was removed, perhaps by the system to free space, or linked under a second name, "
                + "which is used now."
        case .mismatch(let error): error.message
        case .noResumeData: "The system stopped the download and returned no data to resume it."
        case .resumeDataInvalid: "The system's resume data is damaged."
        case .resumeDataTooOld: "The system's resume data is more than a week old."
        case .resumeDataRefused: "The system rejected its resume data, perhaps because it deleted the bytes."
        case .taskLost: "The system no longer has the download, and returned no data to resume it."
        case .filePurged: "The system removed the file before it could be moved into place."
        case .otherBytesHeld: "A background session cannot resume from bytes that it did not download itself."
        }
    }
}
