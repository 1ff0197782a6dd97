/// Emulates a terminal's screen for the few escape sequences that the tool uses.
struct TerminalScreen {
    private(set) var lines: [String] = []
    private var row = 0
    private var column = 0
    /// Unsupported escape sequences; if empty, the screen matches a terminal's.
    private(set) var unknown: [String] = []

    init(_ lines: [String] = []) {
        self.lines = lines
        row = lines.count
    }

    mutating func write(_ text: String) {
        // CR LF would be a single character.
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": (row, column) = (row + 1, 0)
            case "\u{1B}":
                let sequence = rest.prefix { !$0.properties.isAlphabetic }
                rest = rest.dropFirst(sequence.count)
                guard let final = rest.popFirst() else { return unknown.append(String(sequence)) }
                perform(final, String(sequence.dropFirst()))
            default: put(Character(scalar))
            }
        }
    }

    private mutating func perform(_ final: Unicode.Scalar, _ parameters: String) {
        switch (final, parameters) {
        case ("A", let count): row = max(0, row - (Int(count) ?? 1))
        case ("K", ""): if row < lines.count { lines[row] = String(lines[row].prefix(column)) }
        case ("J", ""): lines.removeLast(max(0, lines.count - row))
        case ("h", "?2026"), ("l", "?2026"), ("h", "?7"), ("l", "?7"): break
        default: unknown.append(parameters + String(final))
        }
    }

    private mutating func put(_ character: Character) {
        while lines.count <= row { lines.append("") }
        var line = Array(lines[row])
        while line.count <= column { line.append(" ") }
        line[column] = character
        lines[row] = String(line)
        column += 1
    }
}
