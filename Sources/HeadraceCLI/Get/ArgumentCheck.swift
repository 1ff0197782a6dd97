import Headrace
import HeadracePlatform

/// Arguments of options as values; each failure names the option.
enum ArgumentCheck {
    static func count(_ text: String, of option: Option, atLeast least: Int = 1) throws(UsageError) -> Int {
        guard text.isDigits, let count = Int(text) else {
            throw UsageError(option, "\"\(text)\" is not a number")
        }
        guard count >= least else {
            throw UsageError(option, "\(text) is too small; \(least) is the least")
        }
        return count
    }

    /// Seconds with or without a fraction, more than zero.
    static func seconds(_ text: String, of option: Option) throws(UsageError) -> Duration {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // A Duration traps on more seconds than it holds; nine digits are thirty years.
        guard parts.allSatisfy(\.isDigits), parts[0].count <= 9, let seconds = Double(text) else {
            throw UsageError(option, "\"\(text)\" is not a number of seconds")
        }
        guard seconds >= 0.001 else {
            throw UsageError(option, "\(text) is too small; 0.001 is the least")
        }
        return .seconds(seconds)
    }

    /// Bytes per second, nil for no limit; K, M and G stand for powers of 1024.
    static func rate(_ text: String, of option: Option) throws(UsageError) -> Int64? {
        guard text.lowercased() != "none" else { return nil }
        do {
            return try ByteRate(parsing: text).bytesPerSecond
        } catch {
            let problem =
                switch error {
                case .notANumber: "\"\(text)\" is no rate such as 500K or 1.5M, and not none"
                case .outOfRange: "\(text) is out of range; none is for no limit"
                }
            throw UsageError(option, problem)
        }
    }

    /// Rates by hours, in the library's words.
    static func schedule(_ text: String, of option: Option) throws(UsageError) -> RateSchedule {
        do {
            return try RateSchedule(parsing: text)
        } catch {
            throw UsageError(option, error.message)
        }
    }

    /// `place` is where the text was found, as a message begins.
    static func url(_ text: String, at place: @autoclosure () -> String = "") throws(UsageError) -> URL {
        if let url = URL(string: text), url.scheme != nil { return url }
        let hint = text.isEmpty || text.contains("://") ? "" : "; one begins with http:// or https://"
        throw UsageError("\(place())\"\(text.withoutCredentials)\" is not a URL\(hint)")
    }

    static func checksum(_ text: String) throws(UsageError) -> Checksum {
        do {
            return try Checksum(parsing: text)
        } catch {
            throw UsageError("--checksum: \(error.message)")
        }
    }

    /// `Name: value`; whether HTTP allows the name is the library's to say.
    static func header(_ text: String) throws(UsageError) -> HeaderField {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
            !text.utf8[..<colon].contains(where: \.isBlank)
        else {
            // What follows the first word may be a secret.
            let word = text.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            throw UsageError("--header: \"\(word)\" is no name with a colon after it")
        }
        let value = Substring(text.utf8[colon...].dropFirst()).trimmed
        return HeaderField(name: String(text[..<colon]), value: String(value))
    }
}
