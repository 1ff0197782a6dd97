import HeadracePlatform

/// The downloads that a text file lists, one per line: a URL or a JSON object.
///
/// As in input files of aria2, a line may have further URLs of the same file, separated by tabs, and indented lines
/// after it may have options. Blank lines and lines that start with `#` are ignored.
package struct URLList: Sendable, Equatable {
    /// A URL to download with its own options, and the file and line that it was read from.
    package struct Entry: Sendable, Equatable {
        package let url: String
        /// The name of the list; `nil` for a URL from the command line.
        package var list: String?
        package var line = 0
        package var mirrors: [String] = []
        /// The path of the file, relative to ``directory`` if there is one.
        package var output: String?
        package var directory: String?
        package var checksums: [Checksum] = []
        package var headers: [HeaderField] = []

        package init(url: String, list: String? = nil, line: Int = 0) {
            self.url = url
            self.list = list
            self.line = line
        }
    }

    package private(set) var entries: [Entry] = []

    /// Parses the contents of a file called `name`; throws `invalidRequest` with the number of the first invalid line.
    package init(_ bytes: some Sequence<UInt8>, name: String) throws(DownloadError) {
        var number = 0
        for line in Array(bytes).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            do throws(DownloadError) {
                guard let text = String(utf8: Self.trimmed(line)) else {
                    throw Self.error("it is not UTF-8 text.")
                }
                guard let first = text.utf8.first, first != UInt8(ascii: "#") else { continue }
                try read(text, isIndented: line.first?.isBlank == true, Entry(url: "", list: name, line: number))
            } catch {
                throw Self.error("Line \(number): \(error.message)")
            }
        }
    }

    private mutating func read(_ text: String, isIndented: Bool, _ place: Entry) throws(DownloadError) {
        if text.utf8.first == UInt8(ascii: "{") {
            entries.append(try Entry(json: text, at: place))
        } else if isIndented, let last = entries.indices.last, let option = Self.option(text) {
            try entries[last].apply(option.name, String(option.value))
        } else if !text.has("\t") {
            entries.append(Entry(url: text, list: place.list, line: place.line))
        } else {
            let urls = text.utf8.split(separator: UInt8(ascii: "\t")).map { String(Substring($0.trimmed)) }
            var entry = Entry(url: urls[0], list: place.list, line: place.line)
            entry.mirrors = Array(urls.dropFirst())
            entries.append(entry)
        }
    }

    /// Splits `name=value`; returns `nil` for any other text, such as an indented URL.
    private static func option(_ text: String) -> (name: Substring, value: Substring)? {
        let name = text.prefix { $0 != "=" }
        guard name.endIndex < text.endIndex, name.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "-") })
        else { return nil }
        return (name, text[name.endIndex...].dropFirst())
    }

    /// Returns the line without surrounding blanks, CR and byte order mark.
    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = line.withoutByteOrderMark
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return bytes.trimmed
    }

    fileprivate static func error(_ message: String) -> DownloadError { DownloadError(.invalidRequest, message) }
}

extension URLList.Entry {
    /// The members of a line of JSON.
    private struct Members: Decodable {
        let url: String
        let output: String?
        let checksum: String?
        let mirrors: [String]?
        let headers: [String: String]?

        static let names: Set<String> = ["url", "output", "checksum", "mirrors", "headers"]
    }

    /// The names of the members of a JSON object, whatever the types of their values are.
    private struct Names: Decodable {
        private struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let names: Set<String>

        init(from decoder: any Decoder) throws {
            names = Set(try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue))
        }
    }

    /// Parses an object with the members `url`, `output`, `checksum`, `mirrors` and `headers`.
    fileprivate init(json text: String, at place: URLList.Entry) throws(DownloadError) {
        let decoder = JSONDecoder()
        guard let names = try? decoder.decode(Names.self, from: Data(text.utf8)).names else {
            throw URLList.error("it is not a JSON object.")
        }
        // A misspelled checksum must not be ignored.
        if let unknown = names.subtracting(Members.names).min() {
            throw URLList.error(
                "\"\(unknown.printable)\" is not one of \(Members.names.sorted().joined(separator: ", "))."
            )
        }
        guard let members = try? decoder.decode(Members.self, from: Data(text.utf8)) else {
            throw URLList.error(
                "url, output and checksum must be strings, mirrors a list and headers an object of strings."
            )
        }
        self.init(url: members.url, list: place.list, line: place.line)
        output = members.output
        mirrors = members.mirrors ?? []
        if let checksum = members.checksum { checksums = [try Checksum(parsingAny: checksum)] }
        headers = (members.headers ?? [:]).sorted { $0.key < $1.key }.map { HeaderField(name: $0.key, value: $0.value) }
    }

    /// Applies an option of aria2.
    fileprivate mutating func apply(_ name: Substring, _ value: String) throws(DownloadError) {
        switch name {
        case "out": output = value
        case "dir": directory = value
        case "checksum": checksums.append(try Checksum(parsingAny: value))
        case "header":
            guard let field = HeaderField(parsing: value) else {
                throw URLList.error("header must have the form NAME: VALUE.")
            }
            headers.append(field)
        default: throw URLList.error("\(name) is not one of out, dir, checksum and header.")
        }
    }
}
