#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a finished file keeps of the version that it is, in an extended attribute.
///
/// One line of text, `1 SOURCE SIZE MODIFIED tag|date VALIDATOR`. It moves with the file and its bytes, and so is believed
/// of a file that still has the size and the time; whoever unpacks an archive may have written it, so all is checked.
struct KeptVersion: Sendable, Hashable {
    static let attribute = "user.headrace.validators"
    /// Where file managers look for the address that a file came from.
    static let originAttribute = "user.xdg.origin.url"
    /// The longest line; a file system may have no room for more.
    static let maxBytes = 1024

    /// Tells apart where versions came from, whose tags and dates mean nothing elsewhere.
    private let source: String
    let size: Int64
    /// In nanoseconds since 1970.
    private let modified: Int64
    let condition: VersionCondition

    init(_ condition: VersionCondition, of source: URL, _ stamp: FileStamp) {
        self.source = Self.key(of: source)
        size = stamp.size
        modified = stamp.modified
        self.condition = condition
    }

    /// Nil where the line is none, or one of a later release.
    init?(decoding bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self)
            .split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard bytes.count <= Self.maxBytes, words.count == 6, words[0] == Self.version, let size = Int64(words[2]),
            let modified = Int64(words[3])
        else { return nil }
        let text = String(words[5])
        switch words[4] {
        case "tag":
            guard let tag = EntityTag(parsing: text) else { return nil }
            condition = .noneMatch(tag)
        case "date":
            guard HTTPDate(parsing: text) != nil else { return nil }
            condition = .modifiedSince(text)
        default: return nil
        }
        source = String(words[1])
        self.size = size
        self.modified = modified
    }

    private static let version = "1"

    /// Nil where the line would be too long.
    var encoded: [UInt8]? {
        let validator =
            switch condition {
            case .noneMatch(let tag): "tag \(tag.text)"
            case .modifiedSince(let date): "date \(date)"
            }
        let line = "\(Self.version) \(source) \(size) \(modified) \(validator)"
        return line.utf8.count <= Self.maxBytes ? Array(line.utf8) : nil
    }

    /// Whether a file is the one that was written, and came from this source.
    func isOf(_ status: FileStatus, from source: URL) -> Bool {
        status.kind == .regular && status.size == size && status.modified == modified
            && self.source == Self.key(of: source)
    }

    /// Of the whole URL, whose query may decide what it gives, and without telling it.
    private static func key(of source: URL) -> String {
        PartialKey(url: source, name: "").description
    }
}
