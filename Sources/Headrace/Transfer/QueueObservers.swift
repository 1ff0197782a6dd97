import Synchronization

/// Delivers the events of a manager's queue to its observers.
///
/// Each observer has a buffer of fixed size, which drops the oldest events if the observer is slow.
final class QueueObservers: Sendable {
    static let eventCapacity = 1024
    private static let maxFindings = 100

    private struct State {
        /// The findings so far, such as damage to the registry, which each new observer of events receives first; none
        /// is added once there are ``maxFindings``.
        var findings: [QueueEvent] = []
        var isEnded = false
        var events = Subscribers<QueueEvent>()
        var changes = Subscribers<Void>()

        func yield(_ event: QueueEvent, with outbox: inout Outbox) {
            events.yield(event, with: &outbox)
            changes.yield((), with: &outbox)
        }
    }

    private let state: PublishingLock<State>
    private let firstFindings: Int
    /// Whether there are observers; without any, publishing progress costs next to nothing.
    private let isWatched = Atomic(false)

    /// Creates observers of a queue; `findings` are those of the registry when it was opened.
    init(findings: [String] = []) {
        state = PublishingLock(State(findings: findings.map { .registryDamaged($0) }))
        firstFindings = findings.count
    }

    /// The findings since the registry was opened, such as commands that could not be carried out.
    var laterFindings: [String] {
        state.withLock { state in
            state.findings.dropFirst(firstFindings)
                .compactMap { if case .registryDamaged(let finding) = $0 { finding } else { nil } }
        }
    }

    /// Publishes a finding, such as damage to the registry, to present and future observers of the events.
    func publish(finding: String) {
        let event = QueueEvent.registryDamaged(finding)
        state.publish { state, outbox in
            if state.findings.count < Self.maxFindings { state.findings.append(event) }
            state.yield(event, with: &outbox)
        }
    }

    /// Publishes that an addition by another process was not added to the queue.
    func publish(skippedAddition error: DownloadError) {
        publish(finding: "An addition by another process was skipped: \(error.message)")
    }

    /// Publishes an event to the observers of events, and a change to the observers of changes.
    func publish(_ event: QueueEvent) {
        guard isWatched.load(ordering: .acquiring) else { return }
        state.publish { $0.yield(event, with: &$1) }
    }

    /// Notifies the observers of changes, without publishing an event.
    func recordChange() {
        guard isWatched.load(ordering: .acquiring) else { return }
        state.publish { $0.changes.yield((), with: &$1) }
    }

    /// Returns a stream that begins with the findings so far, such as damage to the registry, and continues with all
    /// later events; it finishes when the manager shuts down.
    func events() -> AsyncStream<QueueEvent> {
        stream(.bufferingNewest(Self.eventCapacity), \.events) { $0.findings }
    }

    /// Returns a stream that yields one element at first, and one after each change or quick succession of changes.
    func changes() -> AsyncStream<Void> { stream(.bufferingNewest(1), \.changes) { _ in [()] } }

    /// Finishes all streams.
    func end() {
        state.publish { state, outbox in
            state.isEnded = true
            state.events.finish(with: &outbox)
            state.changes.finish(with: &outbox)
        }
    }

    private func stream<Element>(
        _ policy: AsyncStream<Element>.Continuation.BufferingPolicy,
        _ subscribers: any WritableKeyPath<State, Subscribers<Element>> & Sendable,
        first: @Sendable (State) -> [Element]
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let subscriber: Int? = state.withLock { state in
            // Under the lock, so that no event is missed or received twice; no task reads the stream yet.
            for element in first(state) { continuation.yield(element) }
            guard !state.isEnded else { return nil }
            isWatched.store(true, ordering: .releasing)
            return state[keyPath: subscribers].add(continuation)
        }
        guard let subscriber else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            state.withLock { state in
                state[keyPath: subscribers].remove(subscriber)
                if state.events.isEmpty, state.changes.isEmpty { self.isWatched.store(false, ordering: .releasing) }
            }
        }
        return stream
    }
}
