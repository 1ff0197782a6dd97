extension String {
    /// The sentence without its final full stop, for use within a longer sentence.
    package var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
