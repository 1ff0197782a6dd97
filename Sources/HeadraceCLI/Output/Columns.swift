/// The layout of a progress line: the columns that fit the terminal, and their widths.
struct Columns: Sendable, Equatable {
    private static let gap = 2
    private static let minName = 12
    private static let minBar = 10
    private static let maxBar = 52

    /// The widths of the percentage, the speed, the time and the size, in order of importance.
    private static let widths = [4, Format.speedWidth, Format.durationWidth, 2 * Format.sizeWidth + 1]

    private let glyphs: Glyphs
    private let name: Int
    private var bar = 0
    /// The number of columns of ``widths`` that fit, plus one if the bar fits too.
    private var shown = 0

    /// Reserves columns in order of importance, then gives the longest name its width, and the bar what remains.
    init(width: Int, longestName: Int, _ glyphs: Glyphs) {
        self.glyphs = glyphs
        // The last column stays empty, because a character there makes some terminals wrap.
        var rest = max(1, width - 1) - Self.minName
        for width in Self.widths + [Self.minBar] {
            guard rest >= width + Self.gap else { break }
            rest -= width + Self.gap
            shown += 1
        }
        if shown > Self.widths.count { bar = Self.minBar }
        let name = max(1, Self.minName + min(rest, max(bar == 0 ? rest : 0, longestName - Self.minName)))
        if bar > 0 { bar += min(Self.maxBar - bar, max(0, rest - (name - Self.minName))) }
        self.name = name
    }

    struct Cells {
        var name: String
        var fraction: Double?
        var size: String
        var speed: String
        var time: String
    }

    /// Formats the progress line of a file, or the line of the totals.
    func line(_ cells: Cells) -> String {
        var parts = [cells.name.fitted(to: name)]
        if bar > 0 { parts.append(glyphs.bar(cells.fraction, width: bar)) }
        let percent = cells.fraction.map(Format.percent) ?? ""
        // In the order of the line, each with its index in the order of importance.
        for (index, text) in [(0, percent), (3, cells.size), (1, cells.speed), (2, cells.time)] where index < shown {
            parts.append(text.fitted(to: Self.widths[index], alignment: .trailing))
        }
        var line = parts.joined(separator: String(repeating: " ", count: Self.gap))
        while line.last == " " { line.removeLast() }
        return glyphs.fit(line)
    }
}
