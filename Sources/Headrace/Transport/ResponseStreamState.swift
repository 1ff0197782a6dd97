/// The state machine that coordinates the network and the reader of one response.
///
/// It counts bytes but does not store them.
///
///     awaitingHead ──headArrived──▶ streaming ──finished──▶ finished
///          └────────── failed ─────────┴── failed ─────────▶ failed
///     any ── close ──▶ closed: the reader has left, and the producer must stop
///
/// The producer pauses at the high watermark and resumes at the low one.
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
        /// Stop, because the reader has closed the stream.
        case stop
    }

    /// The result of the reader's request for the head or for the next chunk.
    enum Next: Equatable {
        case wait
        case chunk
        case end
        case failure(StreamFailure)
    }

    /// The number of buffered bytes at which a waiting reader is woken immediately, instead of at the next flush.
    var wakeThreshold: Int { highWatermark / 4 }
    var lowWatermark: Int { highWatermark / 2 }
    /// The number of buffered bytes at which the producer pauses.
    ///
    /// The reader may change it at any time; buffered bytes above it are read before the producer resumes.
    var highWatermark: Int

    private(set) var phase = Phase.awaitingHead
    private var hasHead = false
    private(set) var bufferedBytes = 0
    private(set) var isProducerPaused = false
    private(set) var isReaderWaiting = false
    private var isReaderWaitingForHead = false

    init(highWatermark: Int) {
        self.highWatermark = highWatermark
    }

    // MARK: The producer's verbs; those that return true wake the reader.

    /// Records the head without waking the reader: bytes received with it can be read together after ``flush()``.
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
        return (isProducerPaused ? .pause : .more, bufferedBytes >= wakeThreshold && takeWaiter())
    }

    /// Records that the producer delivers nothing more for now; returns `true` if a waiting reader must be woken.
    mutating func flush() -> Bool {
        guard phase != .awaitingHead, bufferedBytes > 0 || isReaderWaitingForHead else { return false }
        return takeWaiter()
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

    // MARK: The reader's verbs.

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
        if bufferedBytes > 0 { return .chunk }
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
