extension Int64 {
    /// A number written with digits only, as HTTP writes its sizes and positions; `Int64(_:)` would also take a sign.
    init?(digits text: some StringProtocol) {
        guard text.isDigits, let number = Int64(text) else { return nil }
        self = number
    }

    /// Nil for anything but some hexadecimal digits, few enough for the number to be one.
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
    /// True for one or more ASCII digits and nothing else.
    package var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}
