/// The URLs of an input file: one per line, ignoring blank lines and lines that start with `#`.
struct URLList: Sendable, Equatable {
    /// A URL to download, and the file and line that it was read from.
    struct Entry: Sendable, Equatable {
        let url: String
        /// The name of the input file; `nil` for a URL from the command line.
        var list: String?
        var line = 0

        /// The start of a message about this URL; empty for a URL from the command line.
        var origin: String { list.map { "--input-file: \($0): line \(line): " } ?? "" }
    }

    let entries: [Entry]

    /// Parses the bytes of the file called `name`.
    init(_ bytes: some Sequence<UInt8>, name: String) throws {
        var entries: [Entry] = []
        var number = 0
        for line in Array(bytes).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard let text = String(validating: line, as: UTF8.self) else {
                throw UsageError("--input-file: \(name): line \(number) is not UTF-8 text")
            }
            let url = Self.trimmed(text)
            if !url.isEmpty, !url.hasPrefix("#") {
                entries.append(Entry(url: url, list: name, line: number))
            }
        }
        self.entries = entries
    }

    /// Returns the line without surrounding blanks, CR and byte order mark.
    private static func trimmed(_ text: String) -> String {
        let isOuter: (Unicode.Scalar) -> Bool = { " \t\r\u{FEFF}".unicodeScalars.contains($0) }
        var scalars = text.unicodeScalars[...].drop(while: isOuter)
        while scalars.last.map(isOuter) == true { scalars.removeLast() }
        return String(scalars)
    }
}
