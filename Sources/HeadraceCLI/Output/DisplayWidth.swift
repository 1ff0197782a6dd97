extension Character {
    /// The maximum number of columns of the character; a terminal that combines emoji or syllables uses fewer.
    var displayWidth: Int {
        let width = unicodeScalars.reduce(0) { $0 + $1.displayWidth }
        // U+FE0F selects the emoji form, which is wide.
        return unicodeScalars.contains("\u{FE0F}") ? max(2, width) : width
    }
}

extension Unicode.Scalar {
    /// The number of columns of the scalar: 0, 1 or 2 (Unicode Standard Annex 11).
    fileprivate var displayWidth: Int {
        guard value >= 0x300 else { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Hangul vowels and finals share the columns of the syllable's first part.
        guard !(0x1160...0x11FF).contains(value) else { return 0 }
        return properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) } ? 2 : 1
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}

extension String {
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// Returns the text in exactly `width` columns: padded with blanks, or shortened in the middle.
    func fitted(to width: Int, alignment: Alignment = .leading) -> String {
        let text = shortened(to: width)
        let blanks = String(repeating: " ", count: max(0, width - text.displayWidth))
        return alignment == .leading ? text + blanks : blanks + text
    }

    /// Returns the text in at most `width` columns, shortened in the middle, so that a name keeps its extension.
    func shortened(to width: Int) -> String {
        guard displayWidth > width else { return self }
        guard width > 1 else { return width == 1 ? "…" : "" }
        let tail = reversed().prefix(columns: (width - 1) / 2)
        let head = prefix(columns: width - 1 - String(tail).displayWidth)
        return String(head) + "…" + String(tail.reversed())
    }

    enum Alignment {
        case leading
        case trailing
    }
}

extension Sequence<Character> {
    fileprivate func prefix(columns: Int) -> [Character] {
        var rest = columns
        var kept: [Character] = []
        for character in self {
            rest -= character.displayWidth
            guard rest >= 0 else { break }
            kept.append(character)
        }
        return kept
    }
}
