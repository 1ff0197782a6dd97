extension FixedWidthInteger where Self: UnsignedInteger {
    /// The hexadecimal digits of the number, padded to the width of the type, so that each number has one spelling.
    package var hexadecimal: String {
        let count = Self.bitWidth / 4
        return String(unsafeUninitializedCapacity: count) { digits in
            for place in 0..<count { digits[place] = digit(at: place) }
            return count
        }
    }

    /// The digits of ``hexadecimal`` as bytes.
    var hexadecimalDigits: [UInt8] {
        (0..<Self.bitWidth / 4).map { digit(at: $0) }
    }

    private func digit(at place: Int) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: self >> (Self.bitWidth - 4 * (place + 1))) & 0xf
        return digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    /// Parses the digits that ``hexadecimal`` returns; returns `nil` for any other text.
    init?(hexadecimal digits: some Collection<UInt8>) {
        guard digits.count == Self.bitWidth / 4 else { return nil }
        self = 0
        for byte in digits {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            self = self << 4 | Self(digit)
        }
    }
}
