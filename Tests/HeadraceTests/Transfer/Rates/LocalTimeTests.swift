import Foundation
import Testing

@testable import Headrace

/// The local time used by a rate schedule.
@Suite(.timeLimit(.minutes(4)))
struct LocalTimeTests {
    /// Runs in a separate process, because it changes the time zone.
    @Test func `a changed time zone applies at once`() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "UTC", 1)
            let before = LocalTime.now()
            setenv("TZ", "UTC-12", 1)
            let after = LocalTime.now()
            // The minute may change between the two calls.
            #expect([720, 721].contains((after.minute - before.minute + 1440) % 1440))
        }
    }
}
