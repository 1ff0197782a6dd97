extension String {
    /// The text with control characters replaced, for use in a message.
    var printable: String {
        String(
            String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 })
        )
    }
}
