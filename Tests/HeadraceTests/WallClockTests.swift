import Foundation
import Testing

/// Timers use the injected clock or monotonic clocks, so a wall clock that is wrong or jumps by an hour moves no timer.
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
                // This file contains everything that requires the wall clock.
                guard file.lastPathComponent != "WallTime.swift" else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                count += 1
                for clock in Self.wallClocks { #expect(!text.contains(clock), "\(clock) in \(file.path)") }
            }
        }
        #expect(count > 60)
    }
}
