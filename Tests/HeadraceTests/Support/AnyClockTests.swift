import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct AnyClockTests {
    @Test func `waiting for a time beyond the clock's range never ends`() async {
        let clock = AnyClock(ContinuousClock())
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await clock.sleep(.seconds(Int64.max))
                    return true
                } catch {
                    return error is CancellationError
                }
            }
            group.cancelAll()
            #expect(await group.next() == true)
        }
    }
}
