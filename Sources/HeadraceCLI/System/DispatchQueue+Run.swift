import Dispatch
import Headrace

extension DispatchQueue {
    private final class Box<Value: Sendable>: Sendable {
        let value = Locked<Value?>(nil)
    }

    /// Runs a call that may block for any time, away from Swift's cooperative pool.
    ///
    /// If the task is cancelled and `evenIfCancelled` is `false`, throws `CancellationError` without waiting for the
    /// call.
    func run<Value: Sendable>(
        evenIfCancelled: Bool = false,
        _ call: @escaping @Sendable () -> Value
    ) async throws(CancellationError) -> Value {
        let (latch, box) = (Latch(), Box<Value>())
        async {
            let value = call()
            box.value.withLock { $0 = value }
            latch.open()
        }
        await latch.wait(evenIfCancelled: evenIfCancelled)
        guard let value = box.value.withLock({ $0 }) else { throw CancellationError() }
        return value
    }
}
