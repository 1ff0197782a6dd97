/// Those who read a download's file while it arrives: the lock around a ``ReadableFile``, and who waits there.
final class FileReaders: Sendable {
    typealias ReaderID = ReadableFile.ReaderID

    private struct State {
        var file = ReadableFile()
        var waiting: [ReaderID: Latch] = [:]
        var noteDemand: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    /// Writes the record of the bytes.
    let recordWriter = ResumeRecordWriter()

    /// - Parameters:
    ///   - path: Where the partial is.
    ///   - kept: What an earlier transfer has left of it.
    init(of path: String, _ kept: SuspendedPartial?) {
        guard let kept else { return }
        change { file in
            file.opened(path, kept.written, totalBytes: kept.representation.totalBytes, isSame: false)
            file.kept(kept.stamp)
        }
    }

    /// The bytes that are there.
    var held: ByteRangeSet { state.withLock { $0.file.held } }

    /// Whether anybody reads.
    var isRead: Bool { state.withLock { $0.file.isRead } }

    /// The bytes that are still to be handed out, the most urgent first.
    var demands: [Range<Int64>] { state.withLock { $0.file.demands } }

    /// Has a transfer told that there are other ``demands``; nil ends that.
    func follow(_ noteDemand: (@Sendable () -> Void)?) {
        state.withLock { $0.noteDemand = noteDemand }
    }

    /// Takes note of what has become of the file, and lets those go on who waited for it.
    func change(_ verb: (inout ReadableFile) -> Void) {
        let ready: [Latch] = state.withLock { state in
            verb(&state.file)
            guard !state.waiting.isEmpty else { return [] }
            let ids = state.waiting.keys.filter { state.file.step(of: $0) != .wait }
            return ids.compactMap { state.waiting.removeValue(forKey: $0) }
        }
        for latch in ready { latch.open() }
    }

    /// Takes note of the state of the download.
    func entered(_ record: DownloadRecord) {
        // Looked up under the lock, so that an older state never follows a newer one.
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
        let (result, noteDemand) = state.withLock { (verb(&$0.file), $0.noteDemand) }
        noteDemand?()
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

    /// Returns when there is something else to do than to wait, or when the task is cancelled.
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
