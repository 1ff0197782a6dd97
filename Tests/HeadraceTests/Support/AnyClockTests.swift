import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct AnyClockTests {
    @Test func `a time that no clock has is waited for like one that never comes`() async {
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
