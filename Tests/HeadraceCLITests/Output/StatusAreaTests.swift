import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct StatusAreaTests {
    /// The frame with escape sequences spelled out, for readable expectations.
    private func readable(_ frame: String?) -> String? {
        guard var frame else { return nil }
        for (code, word) in [
            ("\u{1B}[?2026h", "<"), ("\u{1B}[?2026l", ">"), ("\u{1B}[K\n", "|"), ("\u{1B}[J", "END"), ("\r", "CR "),
            ("\u{1B}[?7l", "("), ("\u{1B}[?7h", ")"), ("\u{1B}[", "^"),
        ] {
            frame = frame.split(separator: code, omittingEmptySubsequences: false).joined(separator: word)
        }
        return frame
    }

    @Test
    func `a frame is one write that overwrites the last frame`() {
        var area = StatusArea()
        #expect(readable(area.frame(permanent: [], live: ["a", "b"], width: 10)) == "<CR (a|b|)END>")
        #expect(readable(area.frame(permanent: [], live: ["c", "d"], width: 10)) == "<CR ^2A(c|d|)END>")
    }

    @Test
    func `finished lines stay above the area, which clears its remains`() {
        var area = StatusArea()
        _ = area.frame(permanent: [], live: ["a", "b"], width: 10)
        #expect(readable(area.frame(permanent: ["done"], live: ["b"], width: 10)) == "<CR ^2Adone|(b|)END>")
        #expect(readable(area.frame(permanent: ["done too"], live: [], width: 10)) == "<CR ^1Adone too|END>")
        #expect(readable(area.frame(permanent: ["all"], live: [], width: 10)) == "<CR all|END>")
    }

    @Test
    func `nothing is written when nothing changed`() {
        var area = StatusArea()
        #expect(area.frame(permanent: [], live: [], width: 10) == nil)
        _ = area.frame(permanent: [], live: ["a"], width: 10)
        #expect(area.frame(permanent: [], live: ["a"], width: 10) == nil)
    }

    @Test
    func `lines wrapped by a narrower terminal are overwritten`() {
        var area = StatusArea()
        _ = area.frame(permanent: [], live: ["12345678901", "日本語日本語", ""], width: 20)
        #expect(readable(area.frame(permanent: [], live: ["a"], width: 5)) == "<CR ^7A(a|)END>")
    }

    @Test
    func `after a stop the area starts below the old one`() {
        var area = StatusArea()
        _ = area.frame(permanent: [], live: ["a"], width: 10)
        area.forget()
        #expect(readable(area.frame(permanent: [], live: ["a"], width: 10)) == "<CR (a|)END>")
    }
}
