import Dispatch
import Testing

/// Runs a test that computes for long on a thread of its own.
///
/// The tests that wait for servers and children share a few threads, and miss their moments where these are taken.
struct ComputingTrait: TestTrait, SuiteTrait, TestScoping {
    private final class OwnThread: TaskExecutor {
        private let queue = DispatchQueue(label: "headrace.computing-tests")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private static let executor = OwnThread()

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Self.executor) { try await function() }
    }
}

extension Trait where Self == ComputingTrait {
    /// Runs on the one thread for tests that compute for long.
    static var computing: Self { ComputingTrait() }
}
