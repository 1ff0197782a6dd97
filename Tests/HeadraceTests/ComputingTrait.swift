import Dispatch
import Synchronization
import Testing

/// Runs a compute-heavy test on one of two dedicated threads.
///
/// Tests that wait for servers and child processes share a small thread pool and miss their deadlines if it is busy.
struct ComputingTrait: TestTrait, SuiteTrait, TestScoping {
    private final class OwnThread: TaskExecutor {
        private let queue = DispatchQueue(label: "headrace.computing-tests")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private static let threads = [OwnThread(), OwnThread()]
    private static let count = Atomic(0)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        try await withTaskExecutorPreference(Self.threads[number % Self.threads.count]) { try await function() }
    }
}

extension Trait where Self == ComputingTrait {
    /// Runs a compute-heavy test on a dedicated thread.
    static var computing: Self { ComputingTrait() }
}
