#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One path component that is safe to create, out of whatever a URL or a server proposed.
struct SafeFileName: Sendable, Hashable, CustomStringConvertible {
    /// The longest name in bytes that common file systems keep.
    static let maxBytes = 255

    let description: String

    /// Keeps the last component of `proposal`; nil where nothing usable is left of it.
    init?(_ proposal: String) {
        // Both separators count: a name from a server on one system must not be a path on another.
        let component = proposal.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
        var scalars = Array(component.unicodeScalars.lazy.filter(Self.isAllowed))[...]
        while let last = scalars.last, last == " " || last == "." { scalars.removeLast() }
        while let first = scalars.first, first == " " { scalars.removeFirst() }
        // A leading dot would hide the file, a hyphen make it an option, a tilde a home folder.
        while let first = scalars.first, ".-~".unicodeScalars.contains(first) { scalars.removeFirst() }
        var name = String(String.UnicodeScalarView(scalars))
        guard !name.isEmpty else { return nil }
        if Self.isDeviceName(name) { name = "_" + name }
        description = Self.truncated(name, to: Self.maxBytes)
    }

    /// The name for a download: from the final URL, else from the URL that was asked, else `download`.
    static func forDownload(finalURL: URL, requestURL: URL) -> String {
        for url in [finalURL, requestURL] {
            // A percent-encoded slash is decoded before the split, so it separates as well.
            let path = url.path(percentEncoded: false)
            if !path.hasSuffix("/"), let name = SafeFileName(path) { return name.description }
        }
        return "download"
    }

    /// Shortens a name to so many bytes, between characters, and keeps its extension.
    static func truncated(_ name: String, to maxBytes: Int, suffix: String = "") -> String {
        guard name.utf8.count + suffix.utf8.count > maxBytes else { return name + suffix }
        var (stem, ext) = splitExtension(name)
        if ext.utf8.count > 32 { (stem, ext) = (name, "") }
        while stem.utf8.count + ext.utf8.count + suffix.utf8.count > maxBytes, !stem.isEmpty { stem.removeLast() }
        return stem + ext + suffix
    }

    /// `name (1).ext`: the counter goes before the extension.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ext) = splitExtension(name)
        let counted = " (\(number))" + ext
        return truncated(stem, to: maxBytes - counted.utf8.count) + counted
    }

    /// The extension with its dot, both parts of `.tar.gz`.
    private static func splitExtension(_ name: String) -> (stem: String, ext: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
        let stem = name[..<dot]
        if stem.hasSuffix(".tar"), stem.count > 4 {
            return (String(stem.dropLast(4)), ".tar" + name[dot...])
        }
        return (String(stem), String(name[dot...]))
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

    private static func isDeviceName(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        guard stem.count == 4, stem.hasPrefix("COM") || stem.hasPrefix("LPT") else { return false }
        return stem.last?.isNumber == true
    }
}
