/// The evidence that the server still has the version of the file that the received bytes are from; see
/// ``DownloadEvent/resumed(from:bytesKept:proof:)``.
///
///     if case .resumed(_, let bytes, .entityTag) = event { print("The server confirmed \(bytes) received bytes.") }
public enum ResumeProof: Sendable, Hashable, CaseIterable {
    /// The entity tag is the same, and strong.
    case entityTag
    /// The modification date is the same, or the server sent the bytes on condition of that date (`If-Range`).
    ///
    /// The date is old enough that the file cannot have changed twice in that second.
    case lastModified
    /// A checksum of the whole file verifies it at the end.
    case checksum
    /// The last received bytes were requested again and are the same; see
    /// ``DownloadRequest/ResumePolicy/overlap``.
    case overlap
    /// The system resumed a download of its background session, and has validated the bytes itself.
    case system
}

extension ResumeProof: CustomStringConvertible {
    /// The evidence as a sentence for the user.
    public var description: String {
        switch self {
        case .entityTag: "The entity tag is the same."
        case .lastModified: "The date is the same and old enough."
        case .checksum: "The checksum verifies the file at the end."
        case .overlap: "The server sent no validator, but the last received bytes were downloaded again and match."
        case .system: "The system has validated the received bytes with the server."
        }
    }
}
