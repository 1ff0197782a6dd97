import HeadracePlatform

/// A safe file name, made from a name that a URL or a server proposed: a single path component.
///
/// The name has 1 to ``maxBytes`` bytes, and no separators, control characters or format characters other than joiners
/// within it. It is not `.` or `..`, and not reserved by the library. A name that is already safe does not change.
///
/// Names are examined by scalars: as a `Character`, a slash followed by a combining mark is not a slash.
struct SafeFileName: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length of a name in bytes on common file systems.
    static let maxBytes = 255
    /// The maximum length of an extension with its dot, in bytes; a longer text after a dot is not an extension.
    private static let maxExtensionBytes = 32

    /// The last four bytes of each reserved name, packed by ``letters(_:)``.
    private static let reservedEnds = ReservedFileNames.all.map {
        letters($0.utf8.suffix(4))
    }
    /// The first three letters of the device names that Windows reserves, packed by ``letters(_:)``.
    private static let deviceNames = ["con", "prn", "aux", "nul", "com", "lpt"].map { letters($0.utf8) }

    let description: String

    /// Makes the last component of `proposal` safe; returns `nil` if nothing usable remains.
    init?(_ proposal: String) {
        // Both separators count: a name sent by a server must not be a path on any system.
        let isSeparator: (UInt8) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let start = proposal.utf8.lastIndex(where: isSeparator).map(proposal.utf8.index(after:))
        let component = proposal[(start ?? proposal.startIndex)...]
        let text = String(component)
        guard !text.withBytes(Self.isPlain) else {
            description = text
            return
        }
        var name = Self.fitted(Self.trimmed(Array(component.unicodeScalars.lazy.filter(Self.isAllowed))))
        guard !name.isEmpty else { return nil }
        // Some file systems ignore joiners when they compare names.
        if Self.isDeviceName(name.withoutJoiners) { name = Self.fitted("_" + name) }
        if Self.isReserved(name.withoutJoiners[...]) { name = Self.truncated(name, to: Self.maxBytes, suffix: "_") }
        description = name
    }

    /// Returns the name for a download: the first usable one of the proposals, the final URL and the requested URL, or
    /// else `download`.
    static func forDownload(_ proposals: [String] = [], finalURL: URL, requestURL: URL) -> String {
        for proposal in proposals {
            if let name = SafeFileName(proposal) { return name.description }
        }
        for url in [finalURL, requestURL] {
            // Decoded before the last component is taken, since a percent-encoded slash separates components, too.
            var path = url.path(percentEncoded: true)
            if path.has("%") { path = String(utf8OrLatin1: path.utf8.percentDecoded) }
            if let name = SafeFileName(path) { return name.description }
        }
        return "download"
    }

    /// Whether a name is a valid single path component; the name may be unsafe in other ways.
    static func isComponent(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && !bytes.elementsEqual(".".utf8) && !bytes.elementsEqual("..".utf8)
            && !bytes.contains { $0 == 0 || $0 == UInt8(ascii: "/") } && bytes.count <= maxBytes
    }

    /// Appends `suffix` to a name; if both exceed `maxBytes` bytes together, shortens the name before its extension.
    static func truncated(_ name: String, to maxBytes: Int, suffix: String = "") -> String {
        guard name.utf8.count + suffix.utf8.count > maxBytes else { return name + suffix }
        let (stem, ext) = splitExtension(name)
        return prefix(of: stem, maxBytes: maxBytes - ext.utf8.count - suffix.utf8.count) + ext + suffix
    }

    /// Returns the longest prefix of whole characters that has at most `maxBytes` bytes; `text` itself must be longer.
    ///
    /// If the first character alone is longer, returns a prefix of its scalars.
    private static func prefix(of text: String, maxBytes: Int) -> Substring {
        let fits: (String.Index) -> Bool = { text.utf8[..<$0].count <= maxBytes }
        // From the start: finding a character boundary from the end rescans a run of flag emoji for each of them.
        let characters = text.indices.prefix(while: fits).last
        if let characters, characters > text.startIndex { return text[..<characters] }
        // Such a character has many combining marks.
        return text[..<(text.unicodeScalars.indices.prefix(while: fits).last ?? text.startIndex)]
    }

    /// Returns the name with a number before its extension, such as `name (1).ext`, shortened if it would be too long.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ext) = splitExtension(name)
        let counted = " (\(number))" + ext
        return truncated(stem, to: maxBytes - counted.utf8.count) + counted
    }

    /// Splits off the extension with its dot; `.tar.gz` counts as one.
    private static func splitExtension(_ name: String) -> (stem: String, ext: String) {
        guard var dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return (name, "") }
        let tar = name.utf8[..<dot].suffix(4)
        if tar.elementsEqual(".tar".utf8), tar.startIndex != name.startIndex { dot = tar.startIndex }
        guard name.utf8[dot...].count <= maxExtensionBytes else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Shortens a name to ``maxBytes``, without a space or dot left at the cut.
    private static func fitted(_ name: String) -> String {
        trimmed(truncated(name, to: maxBytes).unicodeScalars)
    }

    /// Removes spaces, dots and joiners at both ends, and leading hyphens and tildes.
    ///
    /// Some systems drop spaces and dots at the end. At the start, a dot hides the file, a hyphen starts an option, and
    /// a tilde means a home folder.
    private static func trimmed(_ name: some BidirectionalCollection<Unicode.Scalar>) -> String {
        let isBlank: (Unicode.Scalar) -> Bool = { $0 == "." || $0.properties.isWhitespace || $0.isJoiner }
        var scalars = name.drop { isBlank($0) || $0 == "-" || $0 == "~" }
        while let last = scalars.last, isBlank(last) { scalars = scalars.dropLast() }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case ":", "*", "?", "\"", "<", ">", "|", "\u{FFFD}": false
        case " "..."~": true
        default:
            switch scalar.properties.generalCategory {
            case .format where scalar.isJoiner: true
            // Format characters reorder or hide text; U+FFFD stands for bytes that were not valid text.
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
            default: true
            }
        }
    }

    /// A fast check for common names that are safe without changes.
    ///
    /// Such a name consists of letters, digits, `.`, `_` and `-`, starts and ends with a letter or digit, is not a
    /// device name, and does not end like a reserved name.
    private static func isPlain(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = name.first, let last = name.last, name.count <= maxBytes else { return false }
        let stem = name.prefix { $0 != UInt8(ascii: ".") }
        return first.isLetterOrDigit && last.isLetterOrDigit
            && !((3...4).contains(stem.count) && deviceNames.contains(letters(stem.prefix(3))))
            && !reservedEnds.contains(letters(name.suffix(4)))
            && name.allSatisfy {
                $0.isLetterOrDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
            }
    }

    /// Returns up to four bytes as one number, ignoring the case of letters.
    private static func letters(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1 | 0x20) }
    }

    /// Whether a name is reserved for files of the library.
    ///
    /// A file that a server named must not be mistaken for one that the library wrote.
    private static func isReserved(_ name: Substring) -> Bool {
        // Some file systems are case-insensitive.
        let name = name.lowercased()
        guard !ReservedFileNames.ofRegistry.contains(name) else { return true }
        let partial =
            ReservedFileNames.besidePartial.first(where: name.hasSuffix).map { name.dropLast($0.count) } ?? name[...]
        return Fingerprint.isAtEnd(of: partial)
    }

    private static func isDeviceName(_ name: String) -> Bool {
        let scalars = name.unicodeScalars.prefix { $0 != "." }
        let stem = trimmed(scalars).uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        guard stem.count == 4, stem.hasPrefix("COM") || stem.hasPrefix("LPT") else { return false }
        return stem.last?.isNumber == true
    }
}

extension Unicode.Scalar {
    /// Whether this is one of the two format characters that orthographies and emoji need.
    fileprivate var isJoiner: Bool { self == "\u{200C}" || self == "\u{200D}" }
}

extension String {
    fileprivate var withoutJoiners: String {
        String(String.UnicodeScalarView(unicodeScalars.lazy.filter { !$0.isJoiner }))
    }
}
