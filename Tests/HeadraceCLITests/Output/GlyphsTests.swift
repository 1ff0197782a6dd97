import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct GlyphsTests {
    @Test(arguments: [
        ([:], Glyphs.ascii), (["LANG": "C"], .ascii), (["LANG": "C.UTF-8"], .unicode),
        (["LANG": "de_DE.utf8"], .unicode),
        (["LANG": "sr_RS.UTF-8@latin"], .unicode), (["LANG": "de_DE.ISO-8859-1"], .ascii),
        (["LC_ALL": "C", "LANG": "C.UTF-8"], .ascii), (["LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"], .unicode),
    ])
    func `the locale selects the characters`(_ environment: [String: String], _ glyphs: Glyphs) {
        #expect(Glyphs { environment[$0] } == glyphs)
    }

    @Test(arguments: [
        (0, "[----]", "[    ]"), (0.01, "[----]", "[    ]"), (0.05, "[----]", "[▏   ]"), (0.5, "[##--]", "[██  ]"),
        (0.97, "[###-]", "[███▉]"), (1, "[####]", "[████]"), (7, "[####]", "[████]"), (-1, "[----]", "[    ]"),
    ])
    func `a bar has the same width in both character sets`(_ fraction: Double, _ ascii: String, _ unicode: String) {
        #expect(Glyphs.ascii.bar(fraction, width: 6) == ascii)
        #expect(Glyphs.unicode.bar(fraction, width: 6) == unicode)
        #expect(Glyphs.unicode.bar(nil, width: 6).displayWidth == 6)
    }

    @Test func `shortened text is marked with characters that the terminal can show`() {
        let running = [DisplayedDownload.running(.half, named: String(repeating: "n", count: 300))]
        let lines = [Glyphs.ascii, .unicode].map {
            LiveProgress(running: running, totals: RunTotals(open: 1)).draw(width: 60, height: 24, $0)[0]
        }
        #expect(lines[0].contains("~") && !lines[0].contains("…"))
        #expect(lines[1].contains("…"))
    }
}
