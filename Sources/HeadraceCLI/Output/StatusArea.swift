/// The lines at the bottom of the terminal that are redrawn in place.
///
/// It does no I/O, but returns the text to write.
struct StatusArea: Sendable {
    private static let beginUpdate = "\u{1B}[?2026h"
    private static let endUpdate = "\u{1B}[?2026l"
    private static let noWrap = "\u{1B}[?7l"
    private static let wrap = "\u{1B}[?7h"
    private static let clearToEndOfLine = "\u{1B}[K"
    private static let clearToEndOfScreen = "\u{1B}[J"

    private var drawn: [String] = []

    /// Returns the text that replaces the drawn area with `permanent`, and `live` below it; `nil` if nothing changes.
    ///
    /// The lines of `permanent` stay on the terminal; those of `live` are the area that the next frame replaces.
    mutating func frame(permanent: [String], live: [String], width: Int) -> String? {
        guard !permanent.isEmpty || live != drawn else { return nil }
        // A terminal that became narrower has wrapped the lines.
        let rows = drawn.reduce(0) { $0 + max(1, ($1.displayWidth + width - 1) / max(1, width)) }
        drawn = live
        let up = rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
        // Wrapping is off, because a terminal may use more columns than measured, and each line must take one row.
        let lines = Self.text(permanent) + (live.isEmpty ? "" : Self.noWrap + Self.text(live) + Self.wrap)
        return Self.beginUpdate + up + lines + Self.clearToEndOfScreen + Self.endUpdate
    }

    private static func text(_ lines: [String]) -> String { lines.map { $0 + clearToEndOfLine + "\n" }.joined() }

    /// Forgets the drawn lines, so that the next frame starts below them.
    mutating func forget() {
        drawn = []
    }
}

extension Console {
    /// Writes the lines `permanent`, which stay on the terminal, and redraws the area below them with the lines `live`.
    ///
    /// Returns `false` and writes nothing if the terminal cannot redraw lines, or if the process is in the background
    /// and `live` is not empty: a background job may only remove the area.
    @discardableResult
    func draw(_ live: [String], below permanent: [String] = [], in area: inout StatusArea) -> Bool {
        guard canRedraw, isForeground || live.isEmpty else { return false }
        if let frame = area.frame(permanent: permanent, live: live, width: size.columns) { write(frame) }
        return true
    }
}
