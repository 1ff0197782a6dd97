/// The open streams of a broadcast, each with its own buffer.
///
/// A value type that its owner protects with a lock. `AsyncStream` calls `onTermination` from `finish`, so the owner
/// must release the lock before it finishes the continuations that ``removeAll()`` returns.
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

    func yield(_ element: Element) {
        for (_, continuation) in continuations { continuation.yield(element) }
    }
}
