import HeadracePlatform

/// The logins of a `.netrc` file, by host.
///
///     configuration.netrc = try Netrc(parsing: Data(contentsOf: file))
///
/// The keywords `machine`, `default`, `login` and `password` are used; `account` and `macdef` are skipped. A value with
/// blanks is enclosed in double quotes, in which a backslash escapes the next character. A `#` in place of a keyword
/// begins a comment, which ends with the line.
public struct Netrc: Sendable {
    private struct Entry: Sendable {
        /// The host; `nil` for the default login.
        var host: String?
        var user: String?
        var password: String?
    }

    private var entries: [Entry] = []

    /// Parses the contents of a `.netrc` file.
    /// - Parameter bytes: The contents of the file.
    /// - Throws: `invalidRequest` with the number of the invalid line, but not its text.
    public init(parsing bytes: some Sequence<UInt8>) throws(DownloadError) {
        var text = Scanner(bytes)
        while let name = try text.word(skippingComments: true) {
            switch name {
            case "machine": entries.append(Entry(host: try text.value().lowercased()))
            case "default": entries.append(Entry())
            case "login" where !entries.isEmpty: entries[entries.count - 1].user = try text.value()
            case "password" where !entries.isEmpty: entries[entries.count - 1].password = try text.value()
            case "account" where !entries.isEmpty: _ = try text.value()
            case "macdef": text.skipMacro()
            default:
                throw text.failure("a word other than machine, default, login or password; quote values with blanks")
            }
        }
    }

    /// A user name and a password.
    struct Login: Sendable, Hashable {
        var user: String
        var password: String
        /// Whether the login is the default one, for hosts without a login of their own.
        var isDefault: Bool
    }

    /// Returns the first login for the host of a URL or, if it has none, the default login.
    ///
    /// Returns `nil` if the file has neither, or if the login has neither a user name nor a password.
    func login(for url: URL) -> Login? {
        guard let host = url.host(percentEncoded: false)?.lowercased() else { return nil }
        let entry = entries.first { $0.host == host } ?? entries.first { $0.host == nil }
        guard let entry, let user = entry.user ?? entry.password.map({ _ in "" }) else { return nil }
        return Login(user: user, password: entry.password ?? "", isDefault: entry.host == nil)
    }
}

extension Netrc: CustomStringConvertible, CustomReflectable {
    /// The number of logins, without user names and passwords.
    public var description: String { "\(entries.count) logins (not shown)" }

    /// The number of logins, the only property for `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["count": entries.count]) }
}

/// Splits a netrc file into words.
private struct Scanner {
    private var rest: ArraySlice<UInt8>
    private var line = 1

    init(_ bytes: some Sequence<UInt8>) {
        rest = Array(bytes).withoutByteOrderMark
    }

    func failure(_ problem: String) -> DownloadError {
        DownloadError(.invalidRequest, "Line \(line) of the netrc file has \(problem).")
    }

    /// Reads the next word, which is the value of a keyword; throws if there is no next word.
    mutating func value() throws(DownloadError) -> String {
        guard let value = try word() else { throw failure("a keyword without a value") }
        return value
    }

    /// Reads the next word; returns `nil` at the end of the file, throws for an unclosed quote, invalid UTF-8 or a NUL.
    ///
    /// With `skippingComments`, a `#` before the word begins a comment; otherwise it is a part of the word.
    mutating func word(skippingComments: Bool = false) throws(DownloadError) -> String? {
        while let byte = rest.first, byte.isSpace || (skippingComments && byte == UInt8(ascii: "#")) {
            if byte == UInt8(ascii: "#") { skipLine() } else { _ = take() }
        }
        guard let first = rest.first else { return nil }
        var word: [UInt8] = []
        if first == UInt8(ascii: "\"") {
            _ = take()
            guard !rest.isEmpty else { throw failure("a quote that is not closed") }
            while let byte = take(), byte != UInt8(ascii: "\"") {
                word.append(byte == UInt8(ascii: "\\") ? take() ?? byte : byte)
                guard !rest.isEmpty else { throw failure("a quote that is not closed") }
            }
        } else {
            while let byte = rest.first, !byte.isSpace { word.append(take() ?? byte) }
        }
        guard let text = String(validating: word, as: UTF8.self), !word.contains(0) else {
            throw failure("a word that is not valid UTF-8")
        }
        return text
    }

    /// Skips a macro definition, which extends to the next empty line.
    mutating func skipMacro() {
        skipLine()
        while let byte = rest.first, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { skipLine() }
    }

    private mutating func skipLine() {
        while let byte = take(), byte != UInt8(ascii: "\n") {}
    }

    private mutating func take() -> UInt8? {
        let byte = rest.popFirst()
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { " \t\r\n".utf8.contains(self) }
}
