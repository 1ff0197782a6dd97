/// The readers of a download's file, which wait for bytes that are not received yet.
extension FileLedger {
    /// Whether there are readers that can read the file before it is finished.
    var isRead: Bool { state.withLock { $0.readable.isRead } }

    /// The ranges still to be delivered to readers, the most urgent first; empty if only the finished file can be read.
    var demands: [Range<Int64>] { state.withLock { $0.readable.demands } }

    /// Sets a handler that is called when a reader joins or leaves, which changes ``demands``; `nil` removes the
    /// handler.
    func follow(_ onDemand: (@Sendable () -> Void)?) { state.withLock { $0.onDemand = onDemand } }

    /// Reports the current state of the download to its readers.
    func entered(_ record: DownloadRecord) {
        // Read under the lock, so that an older state never follows a newer one.
        change { $1.entered(record.status.state, of: record.requested { $0.url }) }
    }

    func join(_ range: Range<Int64>) -> ReaderID { changeDemand { $0.join(range) } }

    func leave(_ id: ReaderID) { changeDemand { $0.leave(id) } }

    private func changeDemand<Result: Sendable>(_ verb: (inout ReadableFile) -> Result) -> Result {
        let (result, onDemand) = state.withLock { (verb(&$0.readable), $0.onDemand) }
        onDemand?()
        return result
    }

    func step(of id: ReaderID) -> ReadableFile.Step { state.withLock { $0.readable.step(of: id) } }

    func took(_ count: Int, of read: ReadableFile.Read, by id: ReaderID) -> Bool {
        state.withLock { $0.readable.took(count, of: read, by: id) }
    }

    func strayed(_ read: ReadableFile.Read, by id: ReaderID) {
        state.withLock { $0.readable.strayed(read, by: id) }
    }

    /// Waits until the reader has something to do, or the task is cancelled.
    func wait(for id: ReaderID) async {
        let latch = Latch()
        let waits = state.withLock { state in
            guard state.readable.step(of: id) == .wait else { return false }
            state.waiting[id] = latch
            return true
        }
        guard waits else { return }
        await latch.wait(evenIfCancelled: false)
        state.withLock { $0.waiting[id] = nil }
    }
}
