/// Passes the bytes of one response from the network thread to the task that reads them.
///
/// The producer's side is synchronous and may be called from any one thread at a time. The reader's side is
/// asynchronous, for one task. ``ResponseStreamState`` makes the decisions.
package final class ResponseStream: Sendable {
    /// The closures with which the reader resumes or cancels the producer; they may be called from any thread.
    package struct Producer: Sendable {
        let resume: @Sendable () -> Void
        let cancel: @Sendable () -> Void

        /// Creates a producer.
        /// - Parameters:
        ///   - resume: Resumes the transfer after a pause.
        ///   - cancel: Cancels the transfer.
        package init(resume: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void) {
            self.resume = resume
            self.cancel = cancel
        }
    }

    private struct Storage {
        /// The capacity of the next chunk in bytes; the first chunk is small, since it may contain the complete body.
        var nextCapacity: Int
        var state: ResponseStreamState
        var head: ResponseHead?
        var chunks: [Chunk] = []
        var waiter: CheckedContinuation<Void, Never>?
        var producer: Producer?
    }

    let pool: ChunkPool
    let chunkCapacity: Int
    /// Whether the stream starts with a reduced high watermark, which applies until the reader sets another one.
    let startsHeldBack: Bool
    private let highWatermark: Int
    private let storage: Locked<Storage>

    /// Creates a stream.
    /// - Parameters:
    ///   - highWatermark: The number of buffered bytes at which the producer pauses.
    ///   - pool: The pool of buffers.
    ///   - maximum: A smaller number of bytes that replaces `highWatermark` until the reader sets another limit; `nil`
    ///     for none.
    package init(highWatermark: Int, pool: ChunkPool, buffering maximum: Int? = nil) {
        self.pool = pool
        self.highWatermark = highWatermark
        startsHeldBack = maximum != nil
        chunkCapacity = highWatermark / 4
        storage = Locked(
            Storage(
                nextCapacity: min(chunkCapacity, max(4 << 10, min(maximum ?? .max, 64 << 10))),
                state: ResponseStreamState(highWatermark: min(maximum ?? .max, highWatermark))
            ),
            rank: .responseStream
        )
    }

    /// Connects the producer, or cancels it immediately if the reader has closed the stream.
    package func connect(_ producer: Producer) {
        let isClosed = storage.withLock { storage in
            storage.producer = producer
            return storage.state.phase == .closed
        }
        if isClosed { producer.cancel() }
    }

    // MARK: The producer's side

    /// Stores the head without waking a reader that waits for it, so that the reader gets it together with bytes that
    /// follow at once.
    ///
    /// The reader is woken when a quarter of the high watermark is buffered, at the end or failure of the body, or by
    /// ``flush(_:)``.
    package func deliver(_ head: ResponseHead) {
        storage.withLock { storage in
            storage.head = head
            storage.state.headArrived()
        }
    }

    /// Copies the bytes to the buffer; returns whether the producer may deliver more, must pause or must stop.
    package func deliver(_ bytes: UnsafeRawBufferPointer) -> ResponseStreamState.Demand {
        let (demand, wakesReader) = storage.withLock { storage in
            let (demand, wakesReader) = storage.state.bytesArrived(bytes.count)
            if demand != .stop { append(bytes, to: &storage) }
            return (demand, wakesReader)
        }
        if wakesReader { wakeReader() }
        return demand
    }

    /// Makes the head or all buffered bytes available to the reader; returns whether bytes are still held back.
    @discardableResult
    package func flush(_ content: ResponseStreamState.Flush = .all) -> Bool {
        let (wakesReader, isHolding) = storage.withLock { ($0.state.flush(content), $0.state.isHolding) }
        if wakesReader { wakeReader() }
        return isHolding
    }

    /// Delivers the end of the body.
    package func finish() {
        update { $0.state.finished() }
    }

    /// Delivers a failure, which the reader receives after the preceding bytes.
    package func fail(_ error: DownloadError) {
        update { $0.state.failed(.download(error)) }
    }

    // MARK: The reader's side

    /// Waits for the head; throws if the transfer fails before the head arrives, or `CancellationError` if the stream
    /// was closed.
    package func nextHead() async throws -> ResponseHead {
        while true {
            let next = storage.withLock { $0.state.nextHead() }
            switch next {
            case .wait: await wait(forHead: true)
            case .failure(let failure): throw failure.error
            case .chunk, .end:
                if let head = storage.withLock({ $0.head }) { return head }
                preconditionFailure("A stream is streaming without a head")
            }
        }
    }

    /// Waits for bytes, and returns the number of bytes in the next chunk, which stays buffered; 0 at the end.
    ///
    /// Also sets the limit for buffered bytes to `maximum`; `nil` restores the stream's own watermark.
    func bufferedBytes(buffering maximum: Int?) async throws -> Int {
        while true {
            let (next, count) = storage.withLock { storage in
                storage.state.highWatermark = min(maximum ?? .max, highWatermark)
                return (storage.state.nextChunk(), storage.chunks.first?.count ?? 0)
            }
            switch next {
            case .wait: await wait(forHead: false)
            case .chunk: return count
            case .end: return 0
            case .failure(let failure): throw failure.error
            }
        }
    }

    /// Waits for bytes and returns them; returns `nil` at the end.
    ///
    /// If the next chunk has more than `maximum` bytes, returns a copy of its first bytes; the others stay buffered.
    func nextChunk(atMost maximum: Int = .max) async throws -> Chunk? {
        while true {
            let (next, chunk, resume) = storage.withLock { storage in
                let next = storage.state.nextChunk()
                guard next == .chunk else { return (next, Chunk?.none, (@Sendable () -> Void)?.none) }
                let chunk = takeFirst(maximum, of: &storage)
                return (next, chunk, storage.state.taken(chunk.count) ? storage.producer?.resume : nil)
            }
            resume?()
            switch next {
            case .wait: await wait(forHead: false)
            case .chunk: return chunk
            case .end: return nil
            case .failure(let failure): throw failure.error
            }
        }
    }

    /// Closes the stream, discards the buffered bytes, and cancels the producer if it has not finished.
    ///
    /// A reader that waits throws `CancellationError`. May be called from any thread.
    package func close() {
        let (cancel, wakesReader, chunks) = storage.withLock { storage in
            let (stopsProducer, wakesReader) = storage.state.close()
            defer { storage.chunks = [] }
            return (stopsProducer ? storage.producer?.cancel : nil, wakesReader, storage.chunks)
        }
        cancel?()
        if wakesReader { wakeReader() }
        for chunk in chunks { pool.give(chunk) }
    }

    private func wait(forHead: Bool) async {
        await withCheckedContinuation { continuation in
            let waits = storage.withLock { storage in
                let waits = storage.state.wait(forHead: forHead)
                if waits { storage.waiter = continuation }
                return waits
            }
            if !waits { continuation.resume() }
        }
    }

    /// Calls `verb` with the storage under the lock, and wakes the reader afterwards if `verb` returned `true`.
    private func update(_ verb: (inout Storage) -> Bool) {
        if storage.withLock({ verb(&$0) }) { wakeReader() }
    }

    /// Resumes the reader after a change of the state that requires it.
    ///
    /// Called only by the thread that made this change, after it has released the lock. Taking the lock again is faster
    /// than returning the continuation from the first critical section, above all if no reader waits.
    private func wakeReader() {
        storage.withLock { $0.waiter.take() }?.resume()
    }

    /// Removes the first chunk, or up to `maximum` bytes of it, from a stream that has buffered bytes.
    private func takeFirst(_ maximum: Int, of storage: inout Storage) -> Chunk {
        guard storage.chunks[0].count > maximum else { return storage.chunks.removeFirst() }
        var part = pool.take(capacity: storage.chunks[0].capacity)
        storage.chunks[0].move(maximum, to: &part)
        return part
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to storage: inout Storage) {
        var rest = bytes
        while !rest.isEmpty {
            if storage.chunks.last.map({ !$0.isFull }) != true {
                storage.chunks.append(pool.take(capacity: storage.nextCapacity))
                storage.nextCapacity = chunkCapacity
            }
            let taken = storage.chunks[storage.chunks.count - 1].append(rest)
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        }
    }
}

extension StreamFailure {
    fileprivate var error: any Error {
        switch self {
        case .cancelled: CancellationError()
        case .download(let error): error
        }
    }
}
