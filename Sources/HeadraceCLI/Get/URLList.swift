/// The URLs of an input file: one a line, without blank lines and lines that start with `#`.
struct URLList: Sendable, Equatable {
    /// A URL, and where it was found.
    struct Entry: Sendable, Equatable {
        let url: String
        /// The list that it is in, and the line there; nil for one of the command line.
        var list: String?
        var line = 0

        /// As a message begins that is about it; empty for one of the command line.
        var place: String { list.map { "--input-file: \($0): line \(line): " } ?? "" }
    }

    let entries: [Entry]

    /// Reads the bytes of the file called `name`.
    init(_ bytes: some Sequence<UInt8>, name: String) throws(UsageError) {
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

    /// Without the blanks, the CR of a foreign line end and the byte order mark around it.
    private static func trimmed(_ text: String) -> String {
        let isOuter: (Unicode.Scalar) -> Bool = { " \t\r\u{FEFF}".unicodeScalars.contains($0) }
        var scalars = text.unicodeScalars[...].drop(while: isOuter)
        while scalars.last.map(isOuter) == true { scalars.removeLast() }
        return String(scalars)
    }
}
