import Dispatch
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BlockingExecutorTests {
    @Test func `a stuck job does not block the others forever`() async throws {
        let executor = try BlockingExecutor(name: "test", maxThreads: 2, maxWorking: 1)
        let isOver = DispatchSemaphore(value: 0)
        await withDiscardingTaskGroup { group in
            group.addTask(executorPreference: executor) { await blocked(on: isOver) }
            group.addTask(executorPreference: executor) { _ = isOver.signal() }
        }
        await executor.shutdown()
    }

    @Test func `many jobs all run, and the threads end`() async throws {
        let executor = try BlockingExecutor(name: "test", maxThreads: 4, maxWorking: 2)
        let count = await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask(executorPreference: executor) {
                    await Task.yield()
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        await executor.shutdown()
        #expect(count == 1000)
    }
}

/// Blocks the thread like a slow file call.
private func blocked(on semaphore: DispatchSemaphore) async {
    func wait() { semaphore.wait() }
    wait()
}
