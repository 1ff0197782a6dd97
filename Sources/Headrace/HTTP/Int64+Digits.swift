extension Int64 {
    /// A number written with digits only, as HTTP writes its sizes and positions; `Int64(_:)` would also take a sign.
    init?(digits text: some StringProtocol) {
        guard text.isDigits, let number = Int64(text) else { return nil }
        self = number
    }
}

extension StringProtocol {
    /// True for one or more ASCII digits and nothing else.
    package var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}
