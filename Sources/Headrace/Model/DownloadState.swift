public import HeadracePlatform

/// The state of a download.
///
///     switch download.state {
///     case .finished(let file): open(file)
///     case .failed(let error): show(error.message)
///     default: break
///     }
public enum DownloadState: Sendable, Hashable {
    /// Queued: waiting for a running download to make room, for a retry, for its ``DownloadRequest/earliestBegin`` or
    /// for a network (see ``Download/networkBlocker``).
    case waiting
    /// Being downloaded.
    case running
    /// Stopped by ``Download/pause()`` until ``Download/resume()``; retains its position in the queue and its bytes.
    case paused
    /// Complete: the file is at this file URL.
    case finished(URL)
    /// Stopped by an error until ``Download/resume()``; retains its position in the queue and its bytes.
    indirect case failed(DownloadError)
    /// Cancelled by ``Download/cancel()``; its partial file is deleted.
    case cancelled

    /// The kind of a state, without the file or error of the state.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Queued, not running.
        case waiting
        /// Being downloaded.
        case running
        /// Stopped until it is resumed.
        case paused
        /// Complete, with the file at its final name.
        case finished
        /// Stopped by an error.
        case failed
        /// Cancelled by the caller.
        case cancelled

        /// Whether the state is `finished`, `failed` or `cancelled`; a download's streams finish in these states.
        public var isEnded: Bool {
            switch self {
            case .waiting, .running, .paused: false
            case .finished, .failed, .cancelled: true
            }
        }
    }

    /// The kind of the state, without its file or error.
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

    /// Whether the state is `finished`, `failed` or `cancelled`; a download's streams finish in these states.
    public var isEnded: Bool { kind.isEnded }
    /// The finished file; `nil` unless the state is `finished`.
    public var fileURL: URL? { if case .finished(let file) = self { file } else { nil } }
    /// The error of a failed download; `nil` unless the state is `failed`.
    public var error: DownloadError? { if case .failed(let error) = self { error } else { nil } }
    /// Whether the state is `waiting`.
    public var isWaiting: Bool { kind == .waiting }
    /// Whether the state is `running`.
    public var isRunning: Bool { kind == .running }
    /// Whether the state is `paused`.
    public var isPaused: Bool { kind == .paused }
    /// Whether the state is `finished`.
    public var isFinished: Bool { kind == .finished }
    /// Whether the state is `failed`.
    public var isFailed: Bool { kind == .failed }
    /// Whether the state is `cancelled`.
    public var isCancelled: Bool { kind == .cancelled }
}
