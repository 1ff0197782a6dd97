public import HeadracePlatform

/// Where a download stands.
public enum DownloadState: Sendable, Hashable {
    /// In the list, not running: it is not its turn, a limit is reached, it waits to try again, it is to begin later, or it
    /// waits for a network; see ``Download/networkBlocker``.
    case waiting
    /// Being fetched.
    case running
    /// Stopped by ``Download/pause()`` until ``Download/resume()``; the place in the list and the bytes are kept.
    case paused
    /// Complete; the file has its final name, which this file URL gives.
    case finished(URL)
    /// Ended by an error; the place in the list and the bytes are kept, and ``Download/resume()`` tries again.
    indirect case failed(DownloadError)
    /// Ended by ``Download/cancel()``.
    case cancelled

    /// The state without what comes with it.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// In the list, not running.
        case waiting
        /// Being fetched.
        case running
        /// Stopped until it is resumed.
        case paused
        /// Complete.
        case finished
        /// Ended by an error.
        case failed
        /// Ended because it is wanted no more.
        case cancelled

        /// True for `finished`, `failed` and `cancelled`: the streams of progress and states end there.
        public var isEnded: Bool {
            switch self {
            case .waiting, .running, .paused: false
            case .finished, .failed, .cancelled: true
            }
        }
    }

    /// The state without what comes with it.
    public var kind: Kind {
        switch self {
        case .waiting: .waiting
        case .running: .running
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    /// True for `finished`, `failed` and `cancelled`: the streams of progress and states end there.
    public var isEnded: Bool { kind.isEnded }
}
