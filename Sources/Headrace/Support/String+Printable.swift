extension String {
    /// The text for use in a message: with U+FFFD in place of control characters and of characters that reorder or hide
    /// text.
    package var printable: String {
        guard !utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: unicodeScalars.map { Self.isPlain($0) ? $0 : "\u{FFFD}" })
        return String(scalars)
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value < 0x20 || scalar.value >= 0x7F else { return true }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return false
        // The joiners are part of letters and emoji; the other format characters reorder or hide text.
        case .format: return scalar == "\u{200C}" || scalar == "\u{200D}"
        default: return true
        }
    }
}
