import Headrace

/// Arguments of options as values; each failure names the option.
enum ArgumentCheck {
    static func count(_ text: String, of option: Option, atLeast least: Int = 1) throws(UsageError) -> Int {
        guard isDigits(text), let count = Int(text) else {
            throw UsageError("--\(option.rawValue): \"\(text)\" is not a number")
        }
        guard count >= least else {
            throw UsageError("--\(option.rawValue): \(text) is too small; \(least) is the least")
        }
        return count
    }

    /// Seconds with or without a fraction, more than zero.
    static func seconds(_ text: String, of option: Option) throws(UsageError) -> Duration {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // A Duration traps on more seconds than it holds; nine digits are thirty years.
        guard parts.allSatisfy(isDigits), parts[0].count <= 9, let seconds = Double(text) else {
            throw UsageError("--\(option.rawValue): \"\(text)\" is not a number of seconds")
        }
        guard seconds >= 0.001 else {
            throw UsageError("--\(option.rawValue): \(text) is too small; 0.001 is the least")
        }
        return .seconds(seconds)
    }

    /// Bytes per second; K, M and G stand for powers of 1024.
    static func rate(_ text: String, of option: Option) throws(UsageError) -> Int64 {
        let shift = ["K": 10, "M": 20, "G": 30][text.suffix(1).uppercased()]
        let digits = shift == nil ? text : String(text.dropLast())
        guard isDigits(digits), let count = Int64(digits) else {
            throw UsageError("--\(option.rawValue): \"\(text)\" is not a number with K, M, G or nothing after it")
        }
        let (rate, isTooLarge) = count.multipliedReportingOverflow(by: 1 << Int64(shift ?? 0))
        guard !isTooLarge, rate > 0 else { throw UsageError("--\(option.rawValue): \(text) is out of range") }
        return rate
    }

    /// `ALG=HEX` with as many digits as the algorithm has.
    static func checksum(_ text: String) throws(UsageError) {
        let lengths = ["md5": 32, "sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128]
        let algorithm = text.prefix { $0 != "=" }.lowercased()
        guard text.contains("="), let length = lengths[algorithm] else {
            throw UsageError("--checksum: \"\(text)\" does not begin with md5=, sha1=, sha256=, sha384= or sha512=")
        }
        let digits = text.dropFirst(algorithm.count + 1)
        guard digits.count == length, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw UsageError("--checksum: \(algorithm) has \(length) hexadecimal digits, and \"\(digits)\" is not that")
        }
    }

    /// `Name: value`; whether HTTP allows the name is the library's to say.
    static func header(_ text: String) throws(UsageError) -> HeaderField {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else {
            throw UsageError("--header: \"\(text)\" has no name with a colon after it")
        }
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var value = text.utf8[colon...].dropFirst().drop(while: isBlank)
        while value.last.map(isBlank) == true { value.removeLast() }
        return HeaderField(name: String(text[..<colon]), value: String(Substring(value)))
    }

    /// Throws for options that a later release fills in, after a look at their arguments.
    static func pendingOptions(_ arguments: ParsedArguments) throws(UsageError) {
        if let value = arguments.value(.limitRate) { _ = try rate(value, of: .limitRate) }
        for value in arguments.all(.checksum) { try checksum(value) }
        for entry in Option.table where entry.isPending && arguments.has(entry.option) {
            throw UsageError("--\(entry.option.rawValue): not yet")
        }
    }

    private static func isDigits(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
