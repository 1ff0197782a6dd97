/// Who waits for whom between the network and the reader of one answer.
///
/// It counts bytes and holds none.
///
///     awaitingHead ──headArrived──▶ streaming ──finished──▶ finished
///          └────────── failed ─────────┴── failed ─────────▶ failed
///     any ── close ──▶ closed: the reader is gone, and the producer is told to stop
///
/// The producer is told to pause at the high watermark and to go on at the low one.
package struct ResponseStreamState: Sendable, Equatable {
    enum Phase: Equatable {
        case awaitingHead
        case streaming
        case finished
        case failed(StreamFailure)
        case closed
    }

    /// What the producer has to do after it delivered.
    package enum Demand: Equatable {
        /// Deliver more.
        case more
        /// Deliver nothing until resumed; what was delivered is taken.
        case pause
        /// The reader is gone.
        case stop
    }

    /// What the reader finds.
    enum Next: Equatable {
        case wait
        case chunk
        case end
        case failure(StreamFailure)
    }

    /// Buffered bytes at which a waiting reader is woken at once instead of at the producer's next pause for breath.
    var wakeThreshold: Int { highWatermark / 4 }
    var lowWatermark: Int { highWatermark / 2 }
    /// The reader may change it at any time: what is beyond it then is taken before the producer goes on.
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

    /// Wakes nobody: the bytes that came with the head can be taken with it after ``flush()``.
    mutating func headArrived() {
        guard phase == .awaitingHead else { return }
        phase = .streaming
        hasHead = true
    }

    mutating func bytesArrived(_ count: Int) -> (demand: Demand, wakesReader: Bool) {
        guard phase == .streaming else { return (.stop, false) }
        bufferedBytes += count
        // Bytes may still come after the pause; they must not make the state forget it.
        isProducerPaused = isProducerPaused || bufferedBytes >= highWatermark
        return (isProducerPaused ? .pause : .more, bufferedBytes >= wakeThreshold && takeWaiter())
    }

    /// The producer will not deliver more for now.
    mutating func flush() -> Bool {
        guard phase != .awaitingHead, bufferedBytes > 0 || isReaderWaitingForHead else { return false }
        return takeWaiter()
    }

    mutating func finished() -> Bool {
        guard phase == .streaming else { return false }
        phase = .finished
        return takeWaiter()
    }

    /// Fails unless it has ended before; what is buffered is still delivered.
    mutating func failed(_ failure: StreamFailure) -> Bool {
        guard phase == .awaitingHead || phase == .streaming else { return false }
        phase = .failed(failure)
        return takeWaiter()
    }

    // MARK: The reader's verbs.

    /// What a reader of the head finds; `chunk` stands for the head.
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

    /// Counts a chunk that the reader took; true tells the paused producer to go on.
    mutating func taken(_ count: Int) -> Bool {
        bufferedBytes -= count
        guard isProducerPaused, bufferedBytes <= lowWatermark else { return false }
        isProducerPaused = false
        return phase == .streaming
    }

    /// The second phase of waiting: false when there is something now, and nothing to wait for.
    mutating func wait(forHead: Bool) -> Bool {
        guard (forHead ? nextHead() : nextChunk()) == .wait else { return false }
        isReaderWaiting = true
        isReaderWaitingForHead = forHead
        return true
    }

    /// The reader is done or cancelled.
    ///
    /// Returns whether the producer must be stopped, and whether somebody waits.
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

/// Why a stream ends before its end.
enum StreamFailure: Error, Equatable {
    case cancelled
    case download(DownloadError)
}
