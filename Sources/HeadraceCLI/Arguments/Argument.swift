import Headrace
import HeadracePlatform

/// Converts the arguments of options; each error names the option.
enum Argument {
    /// Parses a number of parallel downloads, or `auto`.
    static func jobs(_ text: String, of option: Option) throws -> ConcurrencyLimit {
        try text.lowercased() == "auto" ? .automatic : .fixed(count(text, of: option))
    }

    static func count(_ text: String, of option: Option) throws -> Int {
        let minimum = [.retries, .maxRedirects].contains(option) ? 0 : 1
        guard text.isDigits, let count = Int(text) else {
            throw UsageError(option, "\"\(text.withoutCredentials)\" is not a number")
        }
        guard count >= minimum else {
            throw UsageError(option, "\(text) is too small; the minimum is \(minimum)")
        }
        return count
    }

    /// Parses a number of seconds, with or without a fraction: at least 0.001, with up to nine digits before the point.
    static func seconds(_ text: String, of option: Option) throws -> Duration {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // A Duration traps on overflow; nine digits are thirty years.
        guard parts.allSatisfy(\.isDigits), parts[0].count <= 9, let seconds = Double(text) else {
            throw UsageError(option, "\"\(text)\" is not a number of seconds")
        }
        guard seconds >= 0.001 else {
            throw UsageError(option, "\(text) is too small; the minimum is 0.001")
        }
        return .seconds(seconds)
    }

    /// Parses a rate in bytes per second, such as `500K`, with powers of 1024; returns `nil` for `none` (no limit).
    static func rate(_ text: String, of option: Option) throws -> Int64? {
        guard text.lowercased() != "none" else { return nil }
        do {
            return try ByteRate(parsing: text).bytesPerSecond
        } catch {
            let problem =
                switch error {
                case .notANumber: "\"\(text)\" is not a rate such as 500K or 1.5M, or none"
                case .outOfRange: "\(text) is out of range; use none for no limit"
                }
            throw UsageError(option, problem)
        }
    }

    /// Parses a schedule of rates; throws with the library's message if the text is invalid.
    static func schedule(_ text: String, of option: Option) throws -> RateSchedule {
        do {
            return try RateSchedule(parsing: text)
        } catch {
            throw UsageError(option, error.message)
        }
    }

    /// Parses a URL; text without a scheme, such as `example.org/x`, is an https URL.
    ///
    /// An error message starts with `origin`, which names the source of the text.
    static func url(_ text: String, at origin: @autoclosure () -> String = "") throws -> URL {
        if beginsWithHost(text), let url = URL(encoding: "https://\(text)") { return url }
        if let url = URL(encoding: text), url.scheme != nil { return url }
        let hint = text.isEmpty || text.contains("://") ? "" : "; a URL starts with http:// or https://"
        throw UsageError("\(origin())\"\(text.withoutCredentials)\" is not a URL\(hint)")
    }

    /// Whether the text is a URL without its scheme: a name with a dot or a port, or `localhost`.
    static func beginsWithHost(_ text: String) -> Bool {
        guard !text.hasPrefix("http://"), !text.hasPrefix("https://") else { return false }
        let authority = text.utf8.prefix { !"/?#".utf8.contains($0) }
        let host = authority.prefix { $0.isLetterOrDigit || "-.".utf8.contains($0) }
        guard host.first?.isLetterOrDigit == true else { return false }
        let port = authority[host.endIndex...]
        guard !port.isEmpty else { return host.contains(UInt8(ascii: ".")) || host.elementsEqual("localhost".utf8) }
        return port.first == UInt8(ascii: ":") && Substring(port.dropFirst()).isDigits
    }

    /// Parses a checksum such as `sha256=HEX`, or only the digits, whose number determines the hash function.
    static func checksum(_ text: String) throws -> Checksum {
        do {
            return try Checksum(parsingAny: text)
        } catch {
            throw UsageError("--checksum: \(error.message)")
        }
    }

    /// Parses `Name: value`; the library checks whether HTTP allows the name.
    static func header(_ text: String, of option: Option = .header) throws -> HeaderField {
        guard var field = HeaderField(parsing: text) else {
            // The message quotes only the start of the text, because the value may be a secret.
            let word = text.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            throw UsageError(option, "\"\(word)\" is not a header field; write 'NAME: VALUE'")
        }
        field.isSentToAllOrigins = option == .headerEverywhere
        return field
    }
}
