extension BinaryInteger {
    /// Returns the decimal digits of a number that is not negative, with zeros in front if they are fewer than `count`.
    package func padded(to count: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
