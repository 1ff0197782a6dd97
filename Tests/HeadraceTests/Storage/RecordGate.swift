import Dispatch

/// Holds a thread until another one lets it, and all that come later, through.
struct RecordGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() {
        // Longer than any test: a gate that nobody opens fails the test and does not hang it.
        _ = semaphore.wait(timeout: .now() + 30)
        semaphore.signal()
    }

    func open() {
        semaphore.signal()
    }
}
