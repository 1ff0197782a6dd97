/// The sleepers of a `TestClock`, and the tasks that wait for sleepers.
///
/// Mutating methods return the continuations to resume as `Wakings`, to be resumed after the lock is released.
struct TestClockState {
    typealias Continuation = CheckedContinuation<Void, any Error>
    typealias Condition = @Sendable ([TestClock.Instant]) -> Bool

    /// The continuations to resume, in order.
    struct Wakings {
        fileprivate var items: [(continuation: Continuation, result: Result<Void, any Error>)] = []

        func resumeAll() {
            for item in items { item.continuation.resume(with: item.result) }
        }
    }

    private struct Sleeper {
        let id: Int
        let deadline: TestClock.Instant
        let continuation: Continuation
    }

    private struct Watcher {
        let id: Int
        let condition: Condition
        let continuation: Continuation
    }

    private(set) var now = TestClock.Instant(.zero)
    private var lastID = 0
    /// Sorted by deadline; equal deadlines in the order in which they were armed.
    private var sleepers: [Sleeper] = []
    private var watchers: [Watcher] = []
    /// The identifiers of suspensions that were cancelled before they were registered.
    private var cancelledEarly: Set<Int> = []

    var deadlines: [TestClock.Instant] {
        sleepers.map(\.deadline)
    }

    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }

    mutating func arm(_ id: Int, _ deadline: TestClock.Instant, _ continuation: Continuation) -> Wakings {
        var wakings = Wakings()
        if cancelledEarly.remove(id) != nil {
            wakings.items.append((continuation, .failure(CancellationError())))
        } else if deadline <= now {
            wakings.items.append((continuation, .success(())))
        } else {
            let place = sleepers.firstIndex { $0.deadline > deadline } ?? sleepers.endIndex
            sleepers.insert(Sleeper(id: id, deadline: deadline, continuation: continuation), at: place)
            wakeSatisfiedWatchers(&wakings)
        }
        return wakings
    }

    mutating func watch(_ id: Int, _ condition: @escaping Condition, _ continuation: Continuation) -> Wakings {
        var wakings = Wakings()
        if cancelledEarly.remove(id) != nil {
            wakings.items.append((continuation, .failure(CancellationError())))
        } else {
            watchers.append(Watcher(id: id, condition: condition, continuation: continuation))
            wakeSatisfiedWatchers(&wakings)
        }
        return wakings
    }

    mutating func advance(by duration: Duration) -> Wakings {
        now = now.advanced(by: duration)
        let dueCount = sleepers.firstIndex { $0.deadline > now } ?? sleepers.endIndex
        var wakings = Wakings()
        wakings.items = sleepers[..<dueCount].map { ($0.continuation, .success(())) }
        sleepers.removeFirst(dueCount)
        wakeSatisfiedWatchers(&wakings)
        return wakings
    }

    /// Cancelling a sleep or a wait that has already ended only leaves its identifier behind.
    mutating func cancel(_ id: Int) -> Wakings {
        var wakings = Wakings()
        if let place = sleepers.firstIndex(where: { $0.id == id }) {
            wakings.items.append((sleepers.remove(at: place).continuation, .failure(CancellationError())))
            wakeSatisfiedWatchers(&wakings)
        } else if let place = watchers.firstIndex(where: { $0.id == id }) {
            wakings.items.append((watchers.remove(at: place).continuation, .failure(CancellationError())))
        } else {
            cancelledEarly.insert(id)
        }
        return wakings
    }

    private mutating func wakeSatisfiedWatchers(_ wakings: inout Wakings) {
        guard !watchers.isEmpty else { return }
        let deadlines = deadlines
        watchers.removeAll { watcher in
            guard watcher.condition(deadlines) else { return false }
            wakings.items.append((watcher.continuation, .success(())))
            return true
        }
    }
}
