extension String {
    /// A sentence without its full stop, where another one goes on with it.
    package var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
