import Dispatch

extension DispatchQueue {
    /// Runs a call that may block for any time, away from Swift's cooperative pool.
    ///
    /// If the task is cancelled, throws `CancellationError` without waiting for the call.
    func run<Value: Sendable>(_ call: @escaping @Sendable () -> Value) async throws(CancellationError) -> Value {
        let (values, continuation) = AsyncStream.makeStream(of: Value.self)
        async {
            continuation.yield(call())
            continuation.finish()
        }
        // The stream also ends when the task is cancelled.
        for await value in values { return value }
        throw CancellationError()
    }
}
