/// The reason why a download closed a connection early or uses only one; see
/// ``DownloadEvent/connectionClosed(reason:bytesWasted:)`` and
/// ``DownloadEvent/fellBackToOneConnection(reason:bytesWasted:)``.
///
///     if case .connectionClosed(.slow, let bytes) = event { print("A slow connection wasted \(bytes) bytes.") }
public enum ConnectionEndReason: Sendable, Equatable {
    /// Other connections delivered the bytes that this connection was to receive.
    case delivered
    /// The connection was silent, or much slower than the others.
    case slow
    /// The connection's source is slower than another source.
    case slowSource
    /// The download may have fewer connections to the host now: other downloads need some of them, or the host has
    /// refused connections.
    case hostLimit
    /// The download is as fast with fewer connections.
    case surplus
    /// A reader needs other bytes of the file before the bytes of this connection.
    case readerDemand
    /// The connection was lost, or its response cannot be used, as the error states.
    case failed(DownloadError)
    /// The parts of the file could not be verified to be of one version.
    case unverifiedParts
    /// The server did not send the parts of the file as requested.
    case unusableParts
}

extension ConnectionEndReason: CustomStringConvertible {
    /// The reason as a sentence for the user.
    public var description: String {
        switch self {
        case .delivered: "Other connections delivered its bytes."
        case .slow: "It was silent, or much slower than the others."
        case .slowSource: "It is slower than another source."
        case .hostLimit: "The host's connections are shared with other downloads, or it allows fewer of them."
        case .surplus: "Fewer connections are as fast."
        case .readerDemand: "A reader needs other bytes of the file first."
        case .failed(let error): error.message
        case .unverifiedParts: "The parts could not be verified to be of one version."
        case .unusableParts: "The server did not send the parts as requested."
        }
    }
}
