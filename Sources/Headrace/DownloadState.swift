#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a download stands.
public enum DownloadState: Sendable, Equatable {
    /// In the list, not running: the limit on downloads at once is reached.
    case waiting
    /// Being fetched.
    case running
    /// Complete; the file has its final name, which this file URL gives.
    case finished(URL)
    /// Ended by an error.
    case failed(DownloadError)
    /// Ended by ``Download/cancel()``.
    case cancelled

    /// True for `finished`, `failed` and `cancelled`: the streams of progress and states end there.
    public var isEnded: Bool {
        switch self {
        case .waiting, .running: false
        case .finished, .failed, .cancelled: true
        }
    }
}
