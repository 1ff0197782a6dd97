/// The checksums of a file such as `SHA256SUMS`, in the forms that `sha256sum` and its like write and check.
///
/// A line is `HEX  name`, with a `*` for the second blank or not, or `SHA256 (name) = HEX`. With a backslash before it, `\\`,
/// `\n` and `\r` in its name stand for a backslash and line ends. A line of `HEX` alone is for a file that is known otherwise.
public struct ChecksumList: Sendable, Hashable {
    /// A line.
    public struct Entry: Sendable, Hashable {
        /// What the file hashes to.
        public let checksum: Checksum
        /// The file's name, perhaps with a path before it; nil where the line has none.
        public let fileName: String?
    }

    /// The most bytes that are read.
    public static let maxBytes = 4 << 20

    /// The lines that could be read, in order.
    public let entries: [Entry]
    /// How many lines could not be read; empty ones and comments do not count.
    public let malformedLineCount: Int
    /// The places of the lines by the path that they have.
    private var ofPath: [[UInt8]: [Int]] = [:]
    /// By its last component.
    private var ofLastName: [[UInt8]: [Int]] = [:]
    /// Of the lines that have none.
    private var nameless: [Int] = []

    /// Reads a list; what is no checksum, as the lines of a signature around it, is passed over and counted.
    /// - Parameter bytes: The contents of the file.
    /// - Throws: `unexpectedContent` where there is no checksum in it, or more than ``maxBytes``.
    public init(parsing bytes: some Collection<UInt8>) throws(DownloadError) {
        guard bytes.count <= Self.maxBytes else {
            throw DownloadError(.unexpectedContent, "The list of checksums is longer than \(Self.maxBytes >> 20) MiB.")
        }
        let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
        let lines = Array(bytes)[(bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0)...]
            .split(separator: UInt8(ascii: "\n"))
        var entries: [Entry] = []
        var malformedLineCount = 0
        for var line in lines {
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let entry = Entry(line) {
                entries.append(entry)
            } else if !line.isEmpty, line.first != UInt8(ascii: "#") {
                malformedLineCount += 1
            }
        }
        guard !entries.isEmpty else {
            throw DownloadError(.unexpectedContent, "The list of checksums has no line with a checksum that is known.")
        }
        self.entries = entries
        self.malformedLineCount = malformedLineCount
        for (place, entry) in entries.enumerated() {
            guard let name = entry.fileName else {
                nameless.append(place)
                continue
            }
            ofPath[name.withoutCurrentFolder, default: []].append(place)
            if let last = name.components.last { ofLastName[Array(last), default: []].append(place) }
        }
    }

    /// Whether there is a line for a file of this name, with `inAnyFolder` also one with another path before it.
    package func lists(_ name: String, inAnyFolder: Bool) -> Bool {
        guard nameless.isEmpty else { return true }
        guard inAnyFolder else { return ofPath[name.withoutCurrentFolder] != nil }
        return places(of: name) != nil || placesInAnyFolder(of: name) != nil
    }

    /// Finds the strongest checksum of a file.
    ///
    /// Lines with exactly this name, or with `./` before it, are preferred to those with the end of its path, the longer the better;
    /// those to lines with another path before its last component, and those to lines without a name.
    /// - Parameter name: The file's name, perhaps with a path before it.
    /// - Returns: The checksum; nil where there is none, or several that contradict each other.
    public func checksum(forFileNamed name: String) -> Checksum? { checksum(forFileNamed: [name]) }

    /// As for one name, of a file that has several; the first that tells a checksum counts.
    package func checksum(forFileNamed names: [String]) -> Checksum? {
        var isAmbiguous = false
        for name in names {
            if let places = places(of: name) { return entries(at: places).strongest }
            guard let places = placesInAnyFolder(of: name) else { continue }
            if let checksum = entries(at: places).strongest { return checksum }
            isAmbiguous = true
        }
        return isAmbiguous ? nil : entries(at: nameless).strongest
    }

    /// The lines that have a name, or else the most of the end of its path.
    private func places(of name: String) -> [Int]? {
        if let places = ofPath[name.withoutCurrentFolder] { return places }
        let components = name.components
        return components.indices.lazy.compactMap { ofPath[Array(components[$0...].joined(separator: "/".utf8))] }.first
    }

    /// The lines that have any path before the last component of a name.
    private func placesInAnyFolder(of name: String) -> [Int]? {
        name.components.last.flatMap { ofLastName[Array($0)] }
    }

    private func entries(at places: [Int]) -> [Entry] { places.map { entries[$0] } }
}

extension [ChecksumList.Entry] {
    /// The strongest checksum of them all; nil where there is none, or where they contradict each other.
    fileprivate var strongest: Checksum? {
        guard let strongest = map(\.checksum).strongest,
            allSatisfy({ $0.checksum.algorithm != strongest.algorithm || $0.checksum == strongest })
        else { return nil }
        return strongest
    }
}

extension ChecksumList.Entry {
    fileprivate init?(_ line: ArraySlice<UInt8>) {
        let backslash = UInt8(ascii: "\\")
        let isEscaped = line.first == backslash
        let text = (isEscaped ? line.dropFirst() : line).drop(while: \.isBlank)
        guard let (checksum, rawName) = Self.untagged(text) ?? Self.tagged(text) else { return nil }
        self.checksum = checksum
        guard var rest = rawName else {
            fileName = nil
            return
        }
        var name: [UInt8] = []
        while var byte = rest.popFirst() {
            if isEscaped, byte == backslash {
                switch rest.popFirst() {
                case backslash: break
                case UInt8(ascii: "n"): byte = UInt8(ascii: "\n")
                case UInt8(ascii: "r"): byte = UInt8(ascii: "\r")
                default: return nil
                }
            }
            name.append(byte)
        }
        guard !name.isEmpty, !name.contains(0) else { return nil }
        fileName = String(utf8OrLatin1: name)
    }

    /// `HEX  name`, `HEX *name`, or `HEX` alone: the number of digits tells the function.
    private static func untagged(_ text: ArraySlice<UInt8>) -> (Checksum, name: ArraySlice<UInt8>?)? {
        let digits = text.prefix { $0.hexDigit != nil }
        guard let checksum = checksum(digits) else { return nil }
        var rest = text[digits.endIndex...]
        guard let blank = rest.popFirst() else { return (checksum, nil) }
        guard blank.isBlank else { return nil }
        guard !rest.isEmpty else { return (checksum, nil) }
        // Lines of an old form have one blank only.
        if rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: "*") { rest.removeFirst() }
        return (checksum, rest)
    }

    /// `SHA256 (name) = HEX`; without the blanks it is what OpenSSL writes.
    private static func tagged(_ text: ArraySlice<UInt8>) -> (Checksum, name: ArraySlice<UInt8>?)? {
        guard let open = text.firstIndex(of: UInt8(ascii: "(")), let close = text.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        let name = Substring(decoding: text[..<open], as: UTF8.self).trimmed
        var rest = text[(close + 1)...].drop(while: \.isBlank)
        guard rest.popFirst() == UInt8(ascii: "="), let checksum = checksum(rest.drop(while: \.isBlank)),
            checksum.algorithm == Checksum.Algorithm(name: name)
        else { return nil }
        return (checksum, text[(open + 1)..<close])
    }

    private static func checksum(_ digits: ArraySlice<UInt8>) -> Checksum? {
        guard let algorithm = Checksum.Algorithm.allCases.first(where: { $0.byteCount * 2 == digits.count }) else {
            return nil
        }
        return [UInt8](hexadecimal: String(decoding: digits, as: UTF8.self)).flatMap { Checksum(algorithm, bytes: $0) }
    }
}

extension String {
    /// The bytes of the path without each `./` at its beginning: names that are equal as texts may be those of two files.
    fileprivate var withoutCurrentFolder: [UInt8] {
        var rest = self[...].utf8
        while rest.starts(with: "./".utf8) { rest.removeFirst(2) }
        return Array(rest)
    }

    /// The components of the path but those that lead nowhere.
    fileprivate var components: [Substring.UTF8View] {
        utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    }
}
