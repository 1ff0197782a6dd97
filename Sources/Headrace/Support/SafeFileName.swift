import HeadracePlatform

/// One path component that is safe to create, out of whatever a URL or a server proposed.
///
/// Never empty, `.` or `..`, without separators, control and format characters, at most ``maxBytes`` long, not one of the
/// names that files of our own have, and safe again as it is. All is compared by scalars: as a character, a slash with a
/// combining mark after it is no slash.
struct SafeFileName: Sendable, Hashable, CustomStringConvertible {
    /// The longest name in bytes that common file systems keep.
    static let maxBytes = 255
    /// What is longer than this behind the last dot is no extension.
    private static let maxExtensionBytes = 32

    /// What the names of our own end with.
    private static let ownEnds = ReservedFileNames.all.map {
        letters($0.utf8.suffix(4))
    }
    /// What the names of devices begin with.
    private static let deviceNames = ["con", "prn", "aux", "nul", "com", "lpt"].map { letters($0.utf8) }

    let description: String

    /// Keeps the last component of `proposal`; nil where nothing usable is left of it.
    init?(_ proposal: String) {
        // Both separators count: a name from a server on one system must not be a path on another.
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
        if Self.isDeviceName(name) { name = Self.fitted("_" + name) }
        if Self.isOwn(name[...]) { name = Self.truncated(name, to: Self.maxBytes, suffix: "_") }
        description = name
    }

    /// The name for a download: the first that makes one of the proposals, of the final URL, and of the URL that was
    /// asked, else `download`.
    static func forDownload(_ proposals: [String] = [], finalURL: URL, requestURL: URL) -> String {
        for proposal in proposals {
            if let name = SafeFileName(proposal) { return name.description }
        }
        for url in [finalURL, requestURL] {
            // A percent-encoded slash is decoded before the last component is taken, so it separates as well.
            var path = url.path(percentEncoded: true)
            if path.has("%") { path = String(utf8OrLatin1: path.utf8.percentDecoded) }
            if let name = SafeFileName(path) { return name.description }
        }
        return "download"
    }

    /// Whether a name cannot lead out of its directory, and can be one; it need not be safe in other ways.
    static func isComponent(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && !bytes.elementsEqual(".".utf8) && !bytes.elementsEqual("..".utf8)
            && !bytes.contains { $0 == 0 || $0 == UInt8(ascii: "/") } && bytes.count <= maxBytes
    }

    /// Shortens a name to so many bytes, between characters, and keeps its extension.
    static func truncated(_ name: String, to maxBytes: Int, suffix: String = "") -> String {
        guard name.utf8.count + suffix.utf8.count > maxBytes else { return name + suffix }
        let (stem, ext) = splitExtension(name)
        return prefix(of: stem, maxBytes: maxBytes - ext.utf8.count - suffix.utf8.count) + ext + suffix
    }

    /// As many whole characters of a longer text as fit.
    private static func prefix(of text: String, maxBytes: Int) -> Substring {
        let fits: (String.Index) -> Bool = { text.utf8[..<$0].count <= maxBytes }
        // From the front: seen from the end, a run of flags costs a look at all of it for each of them.
        let characters = text.indices.prefix(while: fits).last
        if let characters, characters > text.startIndex { return text[..<characters] }
        // A character can have marks without end.
        return text[..<(text.unicodeScalars.indices.prefix(while: fits).last ?? text.startIndex)]
    }

    /// `name (1).ext`: the counter goes before the extension.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ext) = splitExtension(name)
        let counted = " (\(number))" + ext
        return truncated(stem, to: maxBytes - counted.utf8.count) + counted
    }

    /// The extension with its dot, both parts of `.tar.gz`.
    private static func splitExtension(_ name: String) -> (stem: String, ext: String) {
        guard var dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return (name, "") }
        let tar = name.utf8[..<dot].suffix(4)
        if tar.elementsEqual(".tar".utf8), tar.startIndex != name.startIndex { dot = tar.startIndex }
        guard name.utf8[dot...].count <= maxExtensionBytes else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Of the longest size, and without the blank or dot that a cut may have left at the end.
    private static func fitted(_ name: String) -> String {
        trimmed(truncated(name, to: maxBytes).unicodeScalars)
    }

    /// Without what some systems drop at the end, and what at the start would hide the file (a dot), make it an option (a
    /// hyphen) or a home folder (a tilde).
    private static func trimmed(_ name: some BidirectionalCollection<Unicode.Scalar>) -> String {
        let isBlank: (Unicode.Scalar) -> Bool = { $0 == "." || $0.properties.isWhitespace }
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
            // Format characters reorder or hide what a person reads; U+FFFD stands for bytes that were no text.
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
            default: true
            }
        }
    }

    /// Whether a name is of the kind that most are, and safe as it is: from a letter or digit to another, with no more than
    /// a few signs in between, before the first dot nothing like a device, and at the end nothing like a name of our own.
    private static func isPlain(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = name.first, let last = name.last, name.count <= maxBytes else { return false }
        let stem = name.prefix { $0 != UInt8(ascii: ".") }
        return first.isLetterOrDigit && last.isLetterOrDigit
            && !((3...4).contains(stem.count) && deviceNames.contains(letters(stem.prefix(3))))
            && !ownEnds.contains(letters(name.suffix(4)))
            && name.allSatisfy {
                $0.isLetterOrDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
            }
    }

    /// Up to four bytes as one number, the same for small letters and capital ones.
    private static func letters(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1 | 0x20) }
    }

    /// Whether a partial, its record or a list may have a name: what a server sent would be taken for what we wrote.
    private static func isOwn(_ name: Substring) -> Bool {
        // Some file systems do not tell capital letters from small ones.
        let name = name.lowercased()
        guard !ReservedFileNames.ofRegistry.contains(name) else { return true }
        let partial =
            ReservedFileNames.recordSuffixes.first(where: name.hasSuffix).map { name.dropLast($0.count) } ?? name[...]
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
