/// A value behind a lock, whose changes are published in streams.
///
/// The elements are yielded in the order of the changes, but only after the lock has been released. Yielding under it
/// could be a deadlock: `yield` may wait for the cancellation of the task that reads the stream, and the cancellation
/// calls `onTermination`, which waits for this lock.
struct PublishingLock<Value>: ~Copyable, Sendable {
    // Not private: the compiler of Swift 6.3 then emits invalid code.
    struct State {
        var value: Value
        var outbox = Outbox()
    }

    private let state: Locked<State>

    /// Creates an unlocked lock that protects a value.
    init(_ value: sending Value) {
        state = Locked(State(value: value))
    }

    /// Runs `body` with exclusive access to the value.
    borrowing func withLock<Result>(_ body: (inout Value) -> sending Result) -> sending Result {
        state.withLock { body(&$0.value) }
    }

    /// Runs `body` with exclusive access to the value, then makes the deliveries that `body` added to the outbox.
    ///
    /// If another thread is making deliveries, leaves them to that thread.
    borrowing func publish(_ body: (inout Value, inout Outbox) -> Void) {
        var next = state.withLock { state in
            body(&state.value, &state.outbox)
            return state.outbox.isBeingEmptied ? nil : state.outbox.empty()
        }
        while let deliveries = next {
            for deliver in deliveries { deliver() }
            next = state.withLock { $0.outbox.empty() }
        }
    }
}

/// Calls to `yield` and `finish` that a ``PublishingLock`` makes once it is released.
struct Outbox {
    private var pending: [@Sendable () -> Void] = []
    fileprivate private(set) var isBeingEmptied = false

    mutating func add(_ delivery: @escaping @Sendable () -> Void) { pending.append(delivery) }

    /// Removes and returns the pending deliveries, which the caller must make; `nil` if there are none.
    fileprivate mutating func empty() -> [@Sendable () -> Void]? {
        isBeingEmptied = !pending.isEmpty
        defer { pending = [] }
        return isBeingEmptied ? pending : nil
    }
}
