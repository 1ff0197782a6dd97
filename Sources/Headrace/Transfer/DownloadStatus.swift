/// The state, the progress and the history of one download, and the streams that follow them.
///
/// Transfers write here without a hop to the manager, readers read without waiting. Streams of states and progress hold
/// one value each; a terminal state ends them all and nothing comes after it.
final class DownloadStatus: Sendable {
    /// Of a longer history the oldest events are dropped, and a reader that sleeps misses the newest.
    static let eventCapacity = 256

    /// What there is of a download that has begun, or that somebody follows.
    private final class Activity {
        var progress = DownloadProgress()
        var events: [DownloadEvent] = []
        var stateSubscribers = Subscribers<DownloadState>()
        var progressSubscribers = Subscribers<DownloadProgress>()
        var eventSubscribers = Subscribers<DownloadEvent>()
        /// Those who wait for a state, and which one.
        var waiting: [(isMet: StateTest, latch: Latch)] = []

        func append(_ event: DownloadEvent) {
            // As many as most downloads have.
            if events.isEmpty { events.reserveCapacity(4) }
            if events.count == eventCapacity { events.removeFirst() }
            events.append(event)
            eventSubscribers.yield(event)
        }

        /// Tells another progress, unless it is the same.
        func change(_ change: (inout DownloadProgress) -> Void) {
            let earlier = progress
            change(&progress)
            if progress != earlier { progressSubscribers.yield(progress) }
        }

        /// Those who have waited for this state.
        func takeWaiting(for state: DownloadState, turn: UInt64) -> [Latch] {
            guard !waiting.isEmpty else { return [] }
            let met = waiting.filter { $0.isMet(state, turn) }.map(\.latch)
            waiting.removeAll { $0.isMet(state, turn) }
            return met
        }
    }

    /// Whether a state, which has this turn, is the one that is waited for; called under the lock.
    private typealias StateTest = @Sendable (DownloadState, _ turn: UInt64) -> Bool

    private struct Storage {
        var state: DownloadState
        /// The turn of ``state``; see ``enter(_:_:turn:)``.
        var turn: UInt64 = 0
        /// Most of a long list only waits, and does without.
        var activity: Activity?

        var progress: DownloadProgress { activity?.progress ?? DownloadProgress() }

        mutating func begunActivity() -> Activity {
            if let activity { return activity }
            let new = Activity()
            activity = new
            return new
        }
    }

    private let id: DownloadID
    private let observers: QueueObservers
    private let storage: Locked<Storage>

    init(
        id: DownloadID,
        _ state: DownloadState = .waiting,
        _ progress: DownloadProgress = DownloadProgress(),
        observers: QueueObservers
    ) {
        self.id = id
        self.observers = observers
        storage = Locked(Storage(state: state))
        if progress != DownloadProgress() { storage.withLock { $0.begunActivity().progress = progress } }
    }

    var state: DownloadState { storage.withLock { $0.state } }
    var progress: DownloadProgress { storage.withLock { $0.progress } }
    var now: (DownloadState, DownloadProgress) { storage.withLock { ($0.state, $0.progress) } }

    /// Tells an event, and sets the state unless one of a later turn was set already; nil leaves it.
    ///
    /// A state that has ended may be left again: those who follow the download from then on see it go on.
    /// - Parameters:
    ///   - state: The state.
    ///   - event: The event.
    ///   - turn: Of two states the later one holds, whichever is told last.
    ///   - entering: Called with the state where it is set, before any later one is.
    func enter(
        _ state: DownloadState?,
        _ event: DownloadEvent?,
        turn: UInt64,
        _ entering: (DownloadState) -> Void = { _ in }
    ) {
        let finish: (() -> Void)? = storage.withLock { storage in
            if let event { storage.begunActivity().append(event) }
            guard let state, turn > storage.turn else { return nil }
            storage.turn = turn
            storage.state = state
            entering(state)
            // Before the state, which may end the stream: nothing comes any more.
            if !state.hasSpeed { storage.activity?.change { $0.stopped() } }
            storage.activity?.stateSubscribers.yield(state)
            // Under the lock, so that states are told in their order.
            observers.publish(.stateChanged(id, state))
            guard let activity = storage.activity else { return nil }
            let latches = activity.takeWaiting(for: state, turn: turn)
            guard state.isEnded else { return { latches.forEach { $0.open() } } }
            let states = activity.stateSubscribers.removeAll()
            let progress = activity.progressSubscribers.removeAll()
            let events = activity.eventSubscribers.removeAll()
            return {
                latches.forEach { $0.open() }
                states.forEach { $0.finish() }
                progress.forEach { $0.finish() }
                events.forEach { $0.finish() }
            }
        }
        finish?()
    }

    func publish(_ progress: DownloadProgress) {
        storage.withLock { storage in
            guard !storage.state.isEnded else { return }
            let activity = storage.begunActivity()
            activity.progress = progress
            activity.progressSubscribers.yield(progress)
            observers.recordChange()
        }
    }

    /// Takes note that the bytes are gone, also of a download that has ended.
    func forgetBytes() {
        storage.withLock { storage in
            storage.activity?.change { $0 = DownloadProgress(totalBytes: $0.totalBytes) }
            observers.recordChange()
        }
    }

    func publish(_ event: DownloadEvent) {
        storage.withLock { storage in
            guard !storage.state.isEnded else { return }
            storage.begunActivity().append(event)
        }
    }

    /// Returns when the download has ended, or a state of a turn after this one is told; also when the task is cancelled, unless
    /// `evenIfCancelled`.
    func waitForEnd(orStateAfter turn: UInt64, evenIfCancelled: Bool) async {
        await wait(evenIfCancelled) { $0.isEnded || $1 > turn }
    }

    /// Returns when a state of a turn after this one is told; also when the task is cancelled, unless `evenIfCancelled`.
    func waitForState(after turn: UInt64, evenIfCancelled: Bool) async {
        await wait(evenIfCancelled) { $1 > turn }
    }

    private func wait(_ evenIfCancelled: Bool, until isMet: @escaping StateTest) async {
        let latch = Latch()
        let isOver = storage.withLock { storage in
            if isMet(storage.state, storage.turn) { return true }
            storage.begunActivity().waiting.append((isMet, latch))
            return false
        }
        guard !isOver else { return }
        await latch.wait(evenIfCancelled: evenIfCancelled)
        // It may be long until the state comes, and many may wait for it and give up.
        if Task.isCancelled { storage.withLock { $0.activity?.waiting.removeAll { $0.latch === latch } } }
    }

    func states() -> AsyncStream<DownloadState> {
        stream(.bufferingNewest(1), \.stateSubscribers) { [$0.state] }
    }

    func progressUpdates() -> AsyncStream<DownloadProgress> {
        stream(.bufferingNewest(1), \.progressSubscribers) { [$0.progress] }
    }

    func events() -> AsyncStream<DownloadEvent> {
        stream(.bufferingNewest(Self.eventCapacity), \.eventSubscribers) { $0.activity?.events ?? [] }
    }

    /// A stream that begins with what `history` gives and goes on until the download ends.
    private func stream<Element>(
        _ policy: AsyncStream<Element>.Continuation.BufferingPolicy,
        _ subscribers: any ReferenceWritableKeyPath<Activity, Subscribers<Element>> & Sendable,
        history: (borrowing Storage) -> [Element]
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let subscriber: Int? = storage.withLock { storage in
            for element in history(storage) { continuation.yield(element) }
            return storage.state.isEnded ? nil : storage.begunActivity()[keyPath: subscribers].add(continuation)
        }
        guard let subscriber else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.storage.withLock { $0.activity?[keyPath: subscribers].remove(subscriber) }
        }
        return stream
    }
}

extension DownloadState {
    /// Whether a speed is that of bytes that come, or of all of them.
    fileprivate var hasSpeed: Bool {
        switch self {
        case .running, .finished: true
        case .waiting, .paused, .failed, .cancelled: false
        }
    }
}

extension DownloadProgress {
    fileprivate mutating func stopped() {
        (bytesPerSecond, timeRemaining, bytesVerified) = (0, nil, nil)
    }
}
