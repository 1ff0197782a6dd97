extension FixedWidthInteger where Self: UnsignedInteger {
    /// As many hexadecimal digits as the type holds, so that each number has one spelling.
    package var hexadecimal: String { String(decoding: hexadecimalDigits, as: UTF8.self) }

    /// ``hexadecimal`` as bytes.
    var hexadecimalDigits: [UInt8] {
        let count = Self.bitWidth / 4
        return (1...count).map { place in
            let digit = UInt8(truncatingIfNeeded: self >> (4 * (count - place))) & 0xf
            return digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
        }
    }

    /// Reads a number in its one spelling.
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
