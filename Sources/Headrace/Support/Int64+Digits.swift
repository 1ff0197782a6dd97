extension Int64 {
    /// Parses decimal digits; returns `nil` for any other text, or if the number is too large.
    ///
    /// Unlike `Int64(_:)`, does not accept a sign.
    init?(digits text: some StringProtocol) {
        guard text.isDigits, let number = Int64(text) else { return nil }
        self = number
    }

    /// Parses 1 to 15 hexadecimal digits; returns `nil` for anything else.
    init?(hexadecimalNumber digits: some Collection<UInt8>) {
        guard (1...15).contains(digits.count) else { return nil }
        self = 0
        for byte in digits {
            guard let digit = byte.hexDigit else { return nil }
            self = self << 4 | Int64(digit)
        }
    }
}

extension StringProtocol {
    /// Whether the text is one or more ASCII digits.
    package var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}
