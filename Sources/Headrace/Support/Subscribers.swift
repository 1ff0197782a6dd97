/// The open streams of a broadcast, each with its own buffer.
///
/// A value type that its owner protects: an actor, or a ``PublishingLock``, which yields the elements.
struct Subscribers<Element: Sendable> {
    /// The streams in the order of their addition, with their numbers.
    private var continuations: [(number: Int, continuation: AsyncStream<Element>.Continuation)] = []
    private var last = 0

    var isEmpty: Bool { continuations.isEmpty }

    mutating func add(_ continuation: AsyncStream<Element>.Continuation) -> Int {
        last += 1
        continuations.append((last, continuation))
        return last
    }

    mutating func remove(_ subscriber: Int) {
        continuations.removeAll { $0.number == subscriber }
    }

    mutating func removeAll() -> [AsyncStream<Element>.Continuation] {
        defer { continuations = [] }
        return continuations.map(\.continuation)
    }

    /// Yields an element to all streams once the lock is released.
    func yield(_ element: Element, with outbox: inout Outbox) {
        for (_, continuation) in continuations { outbox.add { continuation.yield(element) } }
    }

    /// Removes all streams, and finishes them once the lock is released.
    mutating func finish(with outbox: inout Outbox) {
        for continuation in removeAll() { outbox.add { continuation.finish() } }
    }
}
