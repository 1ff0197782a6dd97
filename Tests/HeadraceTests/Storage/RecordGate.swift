import Dispatch

/// Blocks a thread until another one opens the gate for it and all later threads.
struct RecordGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() {
        // Longer than any test, so that an unopened gate fails the test instead of hanging it.
        _ = semaphore.wait(timeout: .now() + 30)
        semaphore.signal()
    }

    func open() {
        semaphore.signal()
    }
}
