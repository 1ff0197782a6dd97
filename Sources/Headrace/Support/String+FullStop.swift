extension String {
    /// The sentence without its full stop, for use within a longer one.
    package var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
