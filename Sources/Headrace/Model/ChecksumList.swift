/// The checksums in a file such as `SHA256SUMS`, in the formats of `sha256sum` and similar tools.
///
///     let list = try ChecksumList(parsing: bytes)
///     if let checksum = list.checksum(forFileNamed: "image.iso") { request.checksums = [checksum] }
///
/// A line is `HEX  name`, possibly with `*` instead of the second blank, or `SHA256 (name) = HEX`. In a line that
/// starts with a backslash, `\\`, `\n` and `\r` in the name stand for a backslash and line ends. A line of `HEX` alone
/// has no name.
public struct ChecksumList: Sendable, Hashable {
    /// A valid line of the list.
    public struct Entry: Sendable, Hashable {
        /// The checksum of the file.
        public let checksum: Checksum
        /// The name of the file, possibly with a path; `nil` if the line has none.
        public let fileName: String?
    }

    /// The maximum size in bytes of the parsed file.
    public static let maxBytes = 4 << 20

    /// The valid lines, in order.
    public let entries: [Entry]
    /// The number of invalid lines, not counting empty lines and comments.
    public let malformedLineCount: Int
    /// The indices of the entries by path.
    private var indicesByPath: [[UInt8]: [Int]] = [:]
    /// The indices of the entries by the last component of their path.
    private var indicesByLastComponent: [[UInt8]: [Int]] = [:]
    /// The indices of the entries without a name.
    private var unnamedIndices: [Int] = []

    /// Parses a file; skips and counts invalid lines, such as those of a signature.
    /// - Parameter bytes: The contents of the file.
    /// - Throws: `unexpectedContent` if it has no checksum, or more than ``maxBytes`` bytes.
    public init(parsing bytes: some Collection<UInt8>) throws(DownloadError) {
        guard bytes.count <= Self.maxBytes else {
            throw DownloadError(.unexpectedContent, "The checksum list is larger than \(Self.maxBytes >> 20) MiB.")
        }
        let lines = Array(bytes).withoutByteOrderMark.split(separator: UInt8(ascii: "\n"))
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
            throw DownloadError(.unexpectedContent, "The checksum list contains no supported checksum.")
        }
        self.entries = entries
        self.malformedLineCount = malformedLineCount
        for (index, entry) in entries.enumerated() {
            guard let name = entry.fileName else {
                unnamedIndices.append(index)
                continue
            }
            indicesByPath[name.withoutCurrentFolder, default: []].append(index)
            if let last = name.components.last { indicesByLastComponent[Array(last), default: []].append(index) }
        }
    }

    /// Returns whether an entry may be for a file with this name.
    ///
    /// With `inAnyFolder`, only the last path components must be equal. An entry without a name may be for any file.
    package func lists(_ name: String, inAnyFolder: Bool) -> Bool {
        guard unnamedIndices.isEmpty else { return true }
        guard inAnyFolder else { return indicesByPath[name.withoutCurrentFolder] != nil }
        return indices(of: name) != nil || indicesInAnyFolder(of: name) != nil
    }

    /// Finds the strongest checksum of a file.
    ///
    /// The first of these groups that has entries is used, and the others are ignored:
    /// 1. entries with the same name, ignoring a leading `./`;
    /// 2. entries whose name is an ending of the path, such as `b/c` of `a/b/c`: only those with the longest ending;
    /// 3. entries with the same last path component;
    /// 4. entries without a name.
    /// - Parameter name: The name of the file, possibly with a path.
    /// - Returns: The checksum; `nil` if there is none, or if several contradict each other.
    public func checksum(forFileNamed name: String) -> Checksum? { checksum(forFileNamed: [name]) }

    /// Finds the checksum of a file that may be listed under several names.
    ///
    /// Tries the names in order, and returns the strongest checksum of the first name that is listed. If no name is
    /// listed, uses the entries without a name. Returns `nil` if there are no such entries either, or if the checksums
    /// contradict each other.
    ///
    /// If only the last path component of a name is listed, and its checksums contradict each other, the next name is
    /// tried.
    package func checksum(forFileNamed names: [String]) -> Checksum? {
        var isAmbiguous = false
        for name in names {
            if let indices = indices(of: name) { return entries(at: indices).strongest }
            guard let indices = indicesInAnyFolder(of: name) else { continue }
            if let checksum = entries(at: indices).strongest { return checksum }
            isAmbiguous = true
        }
        return isAmbiguous ? nil : entries(at: unnamedIndices).strongest
    }

    /// Returns the indices of the entries for `name`, or else of those for its longest ending that is listed.
    ///
    /// The endings of `a/b/c` are `b/c` and `c`. Returns `nil` if neither the name nor an ending is listed.
    private func indices(of name: String) -> [Int]? {
        if let indices = indicesByPath[name.withoutCurrentFolder] { return indices }
        let components = name.components
        return components.indices.lazy.compactMap {
            indicesByPath[Array(components[$0...].joined(separator: "/".utf8))]
        }.first
    }

    /// Returns the indices of the entries whose path ends with the last component of this name; `nil` if there are
    /// none.
    private func indicesInAnyFolder(of name: String) -> [Int]? {
        name.components.last.flatMap { indicesByLastComponent[Array($0)] }
    }

    private func entries(at indices: [Int]) -> [Entry] { indices.map { entries[$0] } }
}

extension [ChecksumList.Entry] {
    /// The checksum with the strongest hash function; `nil` if there is none, or if several such checksums differ.
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

    /// Parses `HEX  name`, `HEX *name`, or `HEX` alone; the number of digits determines the hash function.
    private static func untagged(_ text: ArraySlice<UInt8>) -> (Checksum, name: ArraySlice<UInt8>?)? {
        let digits = text.prefix { $0.hexDigit != nil }
        guard let checksum = checksum(digits) else { return nil }
        var rest = text[digits.endIndex...]
        guard let blank = rest.popFirst() else { return (checksum, nil) }
        guard blank.isBlank else { return nil }
        guard !rest.isEmpty else { return (checksum, nil) }
        // An old format has only one blank before the name.
        if rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: "*") { rest.removeFirst() }
        return (checksum, rest)
    }

    /// Parses `SHA256 (name) = HEX`, which OpenSSL writes without the blanks.
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
        let algorithms = Checksum.Algorithm.allCases.filter(\.isHash)
        guard let algorithm = algorithms.first(where: { $0.byteCount * 2 == digits.count }) else { return nil }
        return [UInt8](hexadecimal: String(decoding: digits, as: UTF8.self)).flatMap { Checksum(algorithm, bytes: $0) }
    }
}

extension String {
    /// The bytes of the path without a leading `./`.
    ///
    /// Bytes are compared because strings that are equal in Unicode may name different files.
    fileprivate var withoutCurrentFolder: [UInt8] {
        var rest = self[...].utf8
        while rest.starts(with: "./".utf8) { rest.removeFirst(2) }
        return Array(rest)
    }

    /// The components of the path, without empty ones and `.`.
    fileprivate var components: [Substring.UTF8View] {
        utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    }
}
