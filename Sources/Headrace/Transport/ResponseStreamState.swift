/// The state machine that coordinates the network and the reader of one response.
///
/// It counts bytes but does not store them.
///
///     awaitingHead ──headArrived──▶ streaming ──finished──▶ finished
///          └────────── failed ─────────┴── failed ─────────▶ failed
///     any ── close ──▶ closed: the reader has left, and the producer must stop
///
/// The producer pauses at the high watermark and resumes at the low one. The reader gets bytes in batches: it waits
/// until ``wakeThreshold`` is reached, the body ends, or the producer calls ``flush(_:)`` for all bytes.
package struct ResponseStreamState: Sendable, Equatable {
    enum Phase: Equatable {
        case awaitingHead
        case streaming
        case finished
        case failed(StreamFailure)
        case closed
    }

    /// The action that the producer must take after a delivery.
    package enum Demand: Equatable {
        /// Deliver more.
        case more
        /// Pause until resumed; the bytes of this delivery were accepted.
        case pause
        /// Stop, because the stream was closed or has ended; the bytes of this delivery were discarded.
        case stop
    }

    /// The content that a flush makes available to the reader.
    package enum Flush {
        case head
        /// The head and all buffered bytes.
        case all
    }

    /// The result of the reader's request for the head or for the next chunk.
    enum Next: Equatable {
        case wait
        case chunk
        case end
        case failure(StreamFailure)
    }

    /// The number of buffered bytes for which the reader is woken without a flush.
    var wakeThreshold: Int { highWatermark / 4 }
    var lowWatermark: Int { highWatermark / 2 }
    /// The number of buffered bytes at which the producer pauses.
    ///
    /// The reader may change it at any time; buffered bytes above it are read before the producer resumes.
    var highWatermark: Int {
        // Bytes that the reader may take already do not wait for a higher threshold.
        willSet { if isReady { isDue = true } }
    }

    private(set) var phase = Phase.awaitingHead
    private var hasHead = false
    private(set) var bufferedBytes = 0
    private(set) var isProducerPaused = false
    /// Whether the reader gets all buffered bytes, however few they are.
    private var isDue = false
    private(set) var isReaderWaiting = false
    private var isReaderWaitingForHead = false

    init(highWatermark: Int) {
        self.highWatermark = highWatermark
    }

    // MARK: The producer's calls; if one returns true, its caller must wake the reader.

    /// Records the head without waking the reader, so that ``flush(_:)`` delivers it together with bytes that follow at
    /// once.
    mutating func headArrived() {
        guard phase == .awaitingHead else { return }
        phase = .streaming
        hasHead = true
    }

    mutating func bytesArrived(_ count: Int) -> (demand: Demand, wakesReader: Bool) {
        guard phase == .streaming else { return (.stop, false) }
        bufferedBytes += count
        // More bytes may arrive after the pause; they must not reset it.
        isProducerPaused = isProducerPaused || bufferedBytes >= highWatermark
        return (isProducerPaused ? .pause : .more, isReady && takeWaiter())
    }

    /// Makes the head or all buffered bytes available to the reader; returns `true` if a waiting reader must be woken.
    mutating func flush(_ content: Flush) -> Bool {
        guard phase != .awaitingHead else { return false }
        if content == .all, bufferedBytes > 0 { isDue = true }
        return (isReady || isReaderWaitingForHead) && takeWaiter()
    }

    mutating func finished() -> Bool {
        guard phase == .streaming else { return false }
        phase = .finished
        return takeWaiter()
    }

    /// Records a failure unless the stream has ended; returns `true` if a waiting reader must be woken.
    ///
    /// The reader still receives the buffered bytes before the failure.
    mutating func failed(_ failure: StreamFailure) -> Bool {
        guard phase == .awaitingHead || phase == .streaming else { return false }
        phase = .failed(failure)
        return takeWaiter()
    }

    // MARK: The reader's calls.

    /// Returns the result for a reader that waits for the head; `chunk` means that the head is available.
    func nextHead() -> Next {
        switch phase {
        case .closed: .failure(.cancelled)
        case .failed(let failure) where !hasHead: .failure(failure)
        default: hasHead ? .chunk : .wait
        }
    }

    func nextChunk() -> Next {
        if phase == .closed { return .failure(.cancelled) }
        if isReady { return .chunk }
        return switch phase {
        case .awaitingHead, .streaming: .wait
        case .finished: .end
        case .failed(let failure): .failure(failure)
        case .closed: .failure(.cancelled)
        }
    }

    /// Records that the reader took `count` bytes; returns `true` if the paused producer should resume.
    mutating func taken(_ count: Int) -> Bool {
        bufferedBytes -= count
        // Until the buffer is empty, the reader need not wait.
        isDue = bufferedBytes > 0
        guard isProducerPaused, bufferedBytes <= lowWatermark else { return false }
        isProducerPaused = false
        return phase == .streaming
    }

    /// Records that the reader waits for the head or a chunk; returns `false` if the result is already available.
    mutating func wait(forHead: Bool) -> Bool {
        guard (forHead ? nextHead() : nextChunk()) == .wait else { return false }
        isReaderWaiting = true
        isReaderWaitingForHead = forHead
        return true
    }

    /// Closes the stream, because the reader has left.
    ///
    /// Returns whether the producer must be stopped, and whether a waiting reader must be woken.
    mutating func close() -> (stopsProducer: Bool, wakesReader: Bool) {
        let isProducing = phase == .awaitingHead || phase == .streaming
        phase = .closed
        return (isProducing, takeWaiter())
    }

    /// Whether there are buffered bytes that the reader may take only after more bytes, the end of the body or a flush.
    var isHolding: Bool { phase == .streaming && bufferedBytes > 0 && !isReady }

    /// Whether the reader may take bytes.
    private var isReady: Bool {
        guard bufferedBytes > 0 else { return false }
        return isDue || isProducerPaused || bufferedBytes >= wakeThreshold || phase != .streaming
    }

    private mutating func takeWaiter() -> Bool {
        defer { isReaderWaiting = false }
        return isReaderWaiting
    }
}

/// The reason why a stream failed.
enum StreamFailure: Error, Equatable {
    case cancelled
    case download(DownloadError)
}
