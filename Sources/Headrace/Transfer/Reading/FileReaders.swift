/// The readers of a download's file, with a lock around its ``ReadableFile``; wakes readers that wait for bytes.
final class FileReaders: Sendable {
    typealias ReaderID = ReadableFile.ReaderID

    private struct State {
        var file = ReadableFile()
        var waiting: [ReaderID: Latch] = [:]
        var onDemand: (@Sendable () -> Void)?
    }

    private let state = Locked(State(), rank: .fileReaders)
    /// Writes the resume record for the received bytes.
    let recordWriter = ResumeRecordWriter()

    /// Creates an instance without readers.
    /// - Parameters:
    ///   - path: The path of the partial file.
    ///   - kept: The state of the partial file after an earlier transfer, if known.
    init(of path: String, _ kept: SuspendedPartial?) {
        guard let kept else { return }
        change { file in
            file.opened(path, kept.written, totalBytes: kept.representation.totalBytes, isSame: false)
            file.kept(kept.stamp)
        }
    }

    /// The ranges of the received bytes.
    var held: ByteRangeSet { state.withLock { $0.file.held } }

    /// Whether there are any readers.
    var isRead: Bool { state.withLock { $0.file.isRead } }

    /// The ranges still to be delivered to readers, the most urgent first.
    var demands: [Range<Int64>] { state.withLock { $0.file.demands } }

    /// Sets a handler that is called when a reader joins or leaves, which changes ``demands``; `nil` removes the
    /// handler.
    func follow(_ onDemand: (@Sendable () -> Void)?) {
        state.withLock { $0.onDemand = onDemand }
    }

    /// Applies a change to the ``ReadableFile``, and wakes the waiting readers that can continue after it.
    func change(_ verb: (inout ReadableFile) -> Void) {
        let ready: [Latch] = state.withLock { state in
            verb(&state.file)
            guard !state.waiting.isEmpty else { return [] }
            let ids = state.waiting.keys.filter { state.file.step(of: $0) != .wait }
            return ids.compactMap { state.waiting.removeValue(forKey: $0) }
        }
        for latch in ready { latch.open() }
    }

    /// Reports the current state of the download to its readers.
    func entered(_ record: DownloadRecord) {
        // Read under the lock, so that an older state never follows a newer one.
        change { $0.entered(record.status.state, of: record.requested { $0.url }) }
    }

    // MARK: Readers

    func join(_ range: Range<Int64>) -> ReaderID {
        changeDemand { $0.join(range) }
    }

    func leave(_ id: ReaderID) {
        changeDemand { $0.leave(id) }
    }

    private func changeDemand<Result: Sendable>(_ verb: (inout ReadableFile) -> Result) -> Result {
        let (result, onDemand) = state.withLock { (verb(&$0.file), $0.onDemand) }
        onDemand?()
        return result
    }

    func step(of id: ReaderID) -> ReadableFile.Step {
        state.withLock { $0.file.step(of: id) }
    }

    func took(_ count: Int, of read: ReadableFile.Read, by id: ReaderID) -> Bool {
        state.withLock { $0.file.took(count, of: read, by: id) }
    }

    func strayed(_ read: ReadableFile.Read, by id: ReaderID) {
        state.withLock { $0.file.strayed(read, by: id) }
    }

    /// Waits until the reader has something to do, or the task is cancelled.
    func wait(for id: ReaderID) async {
        let latch = Latch()
        let waits = state.withLock { state in
            guard state.file.step(of: id) == .wait else { return false }
            state.waiting[id] = latch
            return true
        }
        guard waits else { return }
        await latch.wait(evenIfCancelled: false)
        state.withLock { $0.waiting[id] = nil }
    }
}
