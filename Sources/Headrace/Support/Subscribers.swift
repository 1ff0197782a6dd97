/// The open streams of a broadcast, each with its own buffer.
///
/// A value type that its owner protects: an actor, or a ``PublishingLock``, which yields the elements.
struct Subscribers<Element: Sendable> {
    /// The streams in the order of their addition, with their numbers.
    private var members: [(number: Int, continuation: AsyncStream<Element>.Continuation)] = []
    private var last = 0

    var isEmpty: Bool { members.isEmpty }
    var continuations: [AsyncStream<Element>.Continuation] { members.map(\.continuation) }

    mutating func add(_ continuation: AsyncStream<Element>.Continuation) -> Int {
        last += 1
        members.append((last, continuation))
        return last
    }

    mutating func remove(_ subscriber: Int) {
        members.removeAll { $0.number == subscriber }
    }

    mutating func removeAll() -> [AsyncStream<Element>.Continuation] {
        defer { members = [] }
        return continuations
    }
}
