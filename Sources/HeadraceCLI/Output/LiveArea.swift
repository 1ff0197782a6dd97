/// The lines at the bottom of the terminal that are redrawn in place.
///
/// Pure: gives what to write.
struct LiveArea: Sendable {
    private static let beginUpdate = "\u{1B}[?2026h"
    private static let endUpdate = "\u{1B}[?2026l"
    private static let clearToEndOfLine = "\u{1B}[K"
    private static let clearToEndOfScreen = "\u{1B}[J"

    private var drawn: [String] = []

    /// One write that prints `permanent` where the area was and `live` below it; nil where nothing would change.
    mutating func frame(permanent: [String], live: [String], width: Int) -> String? {
        guard !permanent.isEmpty || live != drawn else { return nil }
        // A terminal that became narrower has wrapped what it shows.
        let rows = drawn.reduce(0) { $0 + max(1, ($1.displayWidth + width - 1) / max(1, width)) }
        drawn = live
        let up = rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
        let lines = (permanent + live).map { $0 + Self.clearToEndOfLine + "\n" }.joined()
        return Self.beginUpdate + up + lines + Self.clearToEndOfScreen + Self.endUpdate
    }

    /// Leaves what is on the screen as it is, and starts below.
    mutating func forget() {
        drawn = []
    }
}
