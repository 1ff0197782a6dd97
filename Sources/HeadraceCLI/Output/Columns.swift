/// The layout of a progress line: the columns that fit the terminal, and their widths.
struct Columns: Sendable, Equatable {
    private static let gap = 2
    private static let minName = 12
    private static let minBar = 10
    private static let maxBar = 52

    static let percent = 4
    static let size = 2 * Format.sizeWidth + 1

    let name: Int
    private let glyphs: Glyphs
    private(set) var bar = 0
    private(set) var showsPercent = false
    private(set) var showsSize = false
    private(set) var showsSpeed = false
    private(set) var showsTime = false

    /// Reserves columns in order of importance, then gives the longest name its width, and the bar what remains.
    init(width: Int, longestName: Int, _ glyphs: Glyphs) {
        self.glyphs = glyphs
        // The last column stays empty, because a character there makes some terminals wrap.
        var rest = max(1, width - 1) - Self.minName
        func take(_ columns: Int) -> Bool {
            guard rest >= columns + Self.gap else { return false }
            rest -= columns + Self.gap
            return true
        }
        showsPercent = take(Self.percent)
        showsSpeed = showsPercent && take(Format.speedWidth)
        showsTime = showsSpeed && take(Format.durationWidth)
        showsSize = showsTime && take(Self.size)
        if showsSize, take(Self.minBar) { bar = Self.minBar }
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
        if showsPercent { parts.append(percent.fitted(to: Self.percent, alignment: .trailing)) }
        if showsSize { parts.append(cells.size.fitted(to: Self.size, alignment: .trailing)) }
        if showsSpeed { parts.append(cells.speed.fitted(to: Format.speedWidth, alignment: .trailing)) }
        if showsTime { parts.append(cells.time.fitted(to: Format.durationWidth, alignment: .trailing)) }
        var line = parts.joined(separator: String(repeating: " ", count: Self.gap))
        while line.last == " " { line.removeLast() }
        return glyphs.fit(line)
    }
}
