import HeadracePlatform

/// The state, progress and history of one download, and the streams that publish them.
///
/// Transfers update the status and callers read it without waiting for the manager. Streams of states and of progress
/// buffer one value each; a terminal state finishes all streams.
final class DownloadStatus: Sendable {
    /// The maximum number of events in the history and in the buffer of each event stream; the oldest are dropped.
    static let eventCapacity = 256

    /// The history, progress and observers of a download; allocated when there is one of these.
    private final class Activity {
        var progress = DownloadProgress()
        var events: [DownloadEvent] = []
        var metrics: DownloadMetrics?
        /// The times of the last start and of the end, in milliseconds since 1970.
        var (started, ended): (Int64?, Int64?) = (nil, nil)
        var stateSubscribers = Subscribers<DownloadState>()
        var progressSubscribers = Subscribers<DownloadProgress>()
        var eventSubscribers = Subscribers<DownloadEvent>()

        func append(_ event: DownloadEvent, _ outbox: inout Outbox) {
            switch event {
            case .requestEnded(let request):
                metrics = metrics ?? DownloadMetrics()
                metrics?.add(request)
            case .retrying: metrics?.retries += 1
            default: break
            }
            // Sufficient for most downloads.
            if events.isEmpty { events.reserveCapacity(4) }
            if events.count == eventCapacity { events.removeFirst() }
            events.append(event)
            eventSubscribers.yield(event, with: &outbox)
        }

        /// Changes the progress, and publishes it if the change made a difference.
        func change(_ outbox: inout Outbox, _ change: (inout DownloadProgress) -> Void) {
            let earlier = progress
            change(&progress)
            if progress != earlier { progressSubscribers.yield(progress, with: &outbox) }
        }
    }

    private struct Storage {
        var state: DownloadState
        var priority: DownloadPriority
        var networkBlocker: NetworkBlocker?
        /// The progress, history and observers; `nil` as long as there are none, which saves memory.
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
    private let storage: PublishingLock<Storage>

    init(
        id: DownloadID,
        _ state: DownloadState = .waiting,
        _ progress: DownloadProgress = DownloadProgress(),
        priority: DownloadPriority = .normal,
        observers: QueueObservers
    ) {
        self.id = id
        self.observers = observers
        storage = PublishingLock(Storage(state: state, priority: priority))
        if progress != DownloadProgress() { storage.withLock { $0.begunActivity().progress = progress } }
    }

    var state: DownloadState { storage.withLock { $0.state } }
    var progress: DownloadProgress { storage.withLock { $0.progress } }
    var now: (DownloadState, DownloadProgress) { storage.withLock { ($0.state, $0.progress) } }

    /// The times at which the download last started and ended, in milliseconds since 1970; `nil` if unknown, if it
    /// never started, or if it has not ended since.
    ///
    /// The end is recorded before the state changes: a cancelled download changes its state only after its files were
    /// removed.
    var times: (started: Int64?, ended: Int64?) {
        storage.withLock { ($0.activity?.started, $0.activity?.ended) }
    }

    /// Records that the download starts now; returns the time in milliseconds since 1970.
    func recordStart() -> Int64 {
        let time = WallTime.milliseconds()
        storage.withLock { $0.begunActivity().started = time }
        return time
    }

    /// Records that the download ends now; returns the time in milliseconds since 1970.
    func recordEnd() -> Int64 {
        let time = WallTime.milliseconds()
        storage.withLock { $0.begunActivity().ended = time }
        return time
    }

    /// Restores the times of an earlier process, in milliseconds since 1970.
    func restoreTimes(started: Int64?, ended: Int64?) {
        guard started != nil || ended != nil else { return }
        storage.withLock { storage in
            let activity = storage.begunActivity()
            (activity.started, activity.ended) = (started, ended)
        }
    }

    var metrics: DownloadMetrics? { storage.withLock { $0.activity?.metrics } }

    var networkBlocker: NetworkBlocker? { storage.withLock { $0.networkBlocker } }
    var priority: DownloadPriority {
        get { storage.withLock { $0.priority } }
        set { storage.withLock { $0.priority = newValue } }
    }

    /// Records that the download no longer waits for the network.
    func unblock() { storage.withLock { $0.networkBlocker = nil } }

    /// Publishes an event, if there is one, and enters a state, if there is one.
    ///
    /// A finished, failed or cancelled download may enter another state. Its earlier streams have finished, so only
    /// streams created afterwards show that state.
    func enter(_ state: DownloadState?, _ event: DownloadEvent?) {
        storage.publish { storage, outbox in
            if let event { storage.begunActivity().append(event, &outbox) }
            guard let state else { return }
            if !state.isEnded { storage.activity?.ended = nil }
            storage.state = state
            storage.networkBlocker = if case .waitingForNetwork(let blocker) = event { blocker } else { nil }
            // Published before the state, because a terminal state finishes the streams.
            if !state.hasSpeed { storage.activity?.change(&outbox) { $0.stopped() } }
            storage.activity?.stateSubscribers.yield(state, with: &outbox)
            guard state.isEnded, let activity = storage.activity else { return }
            activity.stateSubscribers.finish(with: &outbox)
            activity.progressSubscribers.finish(with: &outbox)
            activity.eventSubscribers.finish(with: &outbox)
        }
        if let state { observers.publish(.stateChanged(id, state)) }
    }

    func publish(_ progress: DownloadProgress) {
        storage.publish { storage, outbox in
            guard !storage.state.isEnded else { return }
            let activity = storage.begunActivity()
            activity.progress = progress
            activity.progressSubscribers.yield(progress, with: &outbox)
        }
        observers.recordChange()
    }

    /// Resets the progress to zero received bytes and publishes it, even if the download has ended.
    func forgetBytes() {
        storage.publish { storage, outbox in
            storage.activity?.change(&outbox) { $0 = DownloadProgress(totalBytes: $0.totalBytes) }
        }
        observers.recordChange()
    }

    func publish(_ event: DownloadEvent) {
        storage.publish { storage, outbox in
            guard !storage.state.isEnded else { return }
            storage.begunActivity().append(event, &outbox)
        }
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

    /// Returns a stream that begins with the elements of `history` and finishes when the download ends.
    private func stream<Element>(
        _ policy: AsyncStream<Element>.Continuation.BufferingPolicy,
        _ subscribers: any ReferenceWritableKeyPath<Activity, Subscribers<Element>> & Sendable,
        history: (borrowing Storage) -> [Element]
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let subscriber: Int? = storage.withLock { storage in
            // No task reads the stream yet.
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
    /// Whether the progress in this state includes a speed: the current one or, for a finished file, the last one.
    fileprivate var hasSpeed: Bool {
        switch self {
        case .running, .finished: true
        case .waiting, .paused, .failed, .cancelled: false
        }
    }
}

extension DownloadProgress {
    fileprivate mutating func stopped() { (bytesPerSecond, timeRemaining, bytesVerified) = (0, nil, nil) }
}
