/// The logins of a `.netrc` file, by host.
///
/// `machine`, `default`, `login` and `password` are read, `account` and `macdef` passed over. Values are words, or have blanks
/// between double quotes, where a backslash stands before a quote or another one. A `#` in the place of a name begins a comment.
public struct Netrc: Sendable {
    private struct Entry: Sendable {
        /// Nil for all hosts.
        var host: String?
        var user: String?
        var password: String?
    }

    private var entries: [Entry] = []

    /// Reads the bytes of a file.
    /// - Parameter bytes: What is in the file.
    /// - Throws: `invalidRequest` with the line that cannot be read, without what is in it.
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
            default: throw text.failure("no machine, default, login or password; a value with blanks goes in quotes")
            }
        }
    }

    /// A user and a password.
    struct Login: Sendable, Hashable {
        var user: String
        var password: String
        /// Whether they are for all hosts.
        var isDefault: Bool
    }

    /// The first login for a host, else the one for all.
    func login(for host: String) -> Login? {
        let host = host.lowercased()
        let entry = entries.first { $0.host == host } ?? entries.first { $0.host == nil }
        guard let entry, let user = entry.user ?? entry.password.map({ _ in "" }) else { return nil }
        return Login(user: user, password: entry.password ?? "", isDefault: entry.host == nil)
    }
}

extension Netrc: CustomStringConvertible, CustomReflectable {
    /// How many logins there are, and nothing of them.
    public var description: String { "\(entries.count) logins (not shown)" }

    /// What `dump` and debuggers show: the same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["count": entries.count]) }
}

/// The words of a file, from its front.
private struct Scanner {
    private var rest: ArraySlice<UInt8>
    private var line = 1

    init(_ bytes: some Sequence<UInt8>) {
        rest = Array(bytes)[...]
    }

    func failure(_ problem: String) -> DownloadError {
        DownloadError(.invalidRequest, "Line \(line) of the netrc file has \(problem).")
    }

    /// The word that has to follow a name.
    mutating func value() throws(DownloadError) -> String {
        guard let value = try word() else { throw failure("a name without its value") }
        return value
    }

    /// The next word; nil at the end.
    mutating func word(skippingComments: Bool = false) throws(DownloadError) -> String? {
        while let byte = rest.first, byte.isSpace || (skippingComments && byte == UInt8(ascii: "#")) {
            if byte == UInt8(ascii: "#") { skipLine() } else { _ = take() }
        }
        guard let first = rest.first else { return nil }
        var word: [UInt8] = []
        if first == UInt8(ascii: "\"") {
            _ = take()
            guard !rest.isEmpty else { throw failure("a quote that does not end") }
            while let byte = take(), byte != UInt8(ascii: "\"") {
                word.append(byte == UInt8(ascii: "\\") ? take() ?? byte : byte)
                guard !rest.isEmpty else { throw failure("a quote that does not end") }
            }
        } else {
            while let byte = rest.first, !byte.isSpace { word.append(take() ?? byte) }
        }
        guard let text = String(validating: word, as: UTF8.self), !word.contains(0) else {
            throw failure("a word that is no UTF-8 text")
        }
        return text
    }

    /// A macro ends with an empty line.
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
