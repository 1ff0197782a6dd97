/// The open streams of a broadcast, each with its own buffer.
///
/// A value type that its owner protects with a lock. `AsyncStream` calls `onTermination` from `finish`, so the owner
/// must release the lock before it finishes the continuations that ``removeAll()`` returns.
struct Subscribers<Element: Sendable> {
    private var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    private var last = 0

    var isEmpty: Bool { continuations.isEmpty }

    mutating func add(_ continuation: AsyncStream<Element>.Continuation) -> Int {
        last += 1
        continuations[last] = continuation
        return last
    }

    mutating func remove(_ subscriber: Int) {
        continuations[subscriber] = nil
    }

    mutating func removeAll() -> [AsyncStream<Element>.Continuation] {
        defer { continuations = [:] }
        return Array(continuations.values)
    }

    func yield(_ element: Element) {
        for continuation in continuations.values { continuation.yield(element) }
    }
}
