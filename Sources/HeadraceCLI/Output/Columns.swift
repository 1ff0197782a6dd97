/// How the columns of a live line share the width of the terminal.
struct Columns: Sendable, Equatable {
    private static let gap = 2
    private static let leastName = 12
    private static let leastBar = 10
    private static let mostBar = 52

    static let percent = 4
    static let size = 2 * Format.sizeWidth + 1

    let name: Int
    private let glyphs: Glyphs
    private(set) var bar = 0
    private(set) var showsPercent = false
    private(set) var showsSize = false
    private(set) var showsSpeed = false
    private(set) var showsTime = false

    /// Gives space to what matters most first; what is left goes to the name, as far as it needs it, then to the bar.
    init(width: Int, longestName: Int, _ glyphs: Glyphs) {
        self.glyphs = glyphs
        // The last column stays free: a character there makes some terminals wrap.
        var rest = max(1, width - 1) - Self.leastName
        func take(_ columns: Int) -> Bool {
            guard rest >= columns + Self.gap else { return false }
            rest -= columns + Self.gap
            return true
        }
        showsPercent = take(Self.percent)
        showsSpeed = showsPercent && take(Format.speedWidth)
        showsTime = showsSpeed && take(Format.durationWidth)
        showsSize = showsTime && take(Self.size)
        if showsSize, take(Self.leastBar) { bar = Self.leastBar }
        let name = max(1, Self.leastName + min(rest, max(bar == 0 ? rest : 0, longestName - Self.leastName)))
        if bar > 0 { bar += min(Self.mostBar - bar, max(0, rest - (name - Self.leastName))) }
        self.name = name
    }

    /// Puts one line together.
    func line(name: String, fraction: Double?, size: String, speed: String, time: String) -> String {
        var parts = [name.fitted(to: self.name)]
        if bar > 0 { parts.append(glyphs.bar(fraction, width: bar)) }
        let percent = fraction.map(Format.percent) ?? ""
        if showsPercent { parts.append(percent.fitted(to: Self.percent, alignment: .trailing)) }
        if showsSize { parts.append(size.fitted(to: Self.size, alignment: .trailing)) }
        if showsSpeed { parts.append(speed.fitted(to: Format.speedWidth, alignment: .trailing)) }
        if showsTime { parts.append(time.fitted(to: Format.durationWidth, alignment: .trailing)) }
        var line = parts.joined(separator: String(repeating: " ", count: Self.gap))
        while line.last == " " { line.removeLast() }
        return glyphs.fit(line)
    }
}
