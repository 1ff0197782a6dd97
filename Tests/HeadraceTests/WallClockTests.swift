import Foundation
import Testing

/// Times come from the injected clock and from clocks that nobody can set; a clock on the wall that is wrong, or jumps by
/// an hour, then moves no timer.
@Suite(.timeLimit(.minutes(4)), .computing)
struct WallClockTests {
    private static let wallClocks = [
        "Date()", "Date.now", "timeIntervalSinceNow", "gettimeofday", "CLOCK_REALTIME", "time(nil)", "time(NULL)",
        "DispatchWallTime", "DispatchTime", "CFAbsoluteTime", "timerfd", "strftime", "localtime",
    ]

    @Test func `T15 only WallTime.swift reads the wall clock`() throws {
        let package = URL(filePath: #filePath).appending(path: "../../..").standardized
        var count = 0
        for folder in ["Sources/Headrace", "Sources/CHeadrace"] {
            let files = FileManager.default.enumerator(
                at: package.appending(path: folder),
                includingPropertiesForKeys: nil
            )
            for case let file as URL in try #require(files) where ["swift", "c", "h"].contains(file.pathExtension) {
                // What can be told by no other clock is in one file.
                guard file.lastPathComponent != "WallTime.swift" else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                count += 1
                for clock in Self.wallClocks { #expect(!text.contains(clock), "\(clock) in \(file.path)") }
            }
        }
        #expect(count > 60)
    }
}
