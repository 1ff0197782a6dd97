#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a finished file keeps of the version that it is, in an extended attribute.
///
/// One line of text, `1 SOURCE SIZE MODIFIED tag|date VALIDATOR`. It moves with the file and its bytes, and so is believed
/// of a file that still has the size and the time; whoever unpacks an archive may have written it, so all is checked. Where
/// the bytes were not synced before it, it is `2 BOOT SOURCE ...`, and believed until the system starts again.
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
    /// The boot that it is believed in; nil for any.
    private let bootID: String?
    let condition: VersionCondition

    /// `variant` tells apart requests of one URL, as ``DownloadRequest/variant(_:)`` has it; `bootID` is the present boot of a
    /// file whose bytes may not be on the disk yet, and nil where they are.
    init(_ condition: VersionCondition, of source: URL, variant: String = "", _ stamp: FileStamp, bootID: String?) {
        self.source = Self.key(of: source, variant)
        size = stamp.size
        modified = stamp.modified
        self.bootID = bootID
        self.condition = condition
    }

    /// Nil where the line is none, or one of a later release.
    init?(decoding bytes: [UInt8]) {
        let line = String(decoding: bytes, as: UTF8.self)
        let isOfBoot = line.hasPrefix(Self.bootVersion + " ")
        let count = isOfBoot ? 7 : 6
        var fields = line.split(separator: " ", maxSplits: count - 1, omittingEmptySubsequences: false).map(String.init)
        guard bytes.count <= Self.maxBytes, fields.count == count, isOfBoot || fields[0] == Self.version else {
            return nil
        }
        bootID = isOfBoot ? fields.remove(at: 1) : nil
        guard let size = Int64(fields[2]), let modified = Int64(fields[3]) else { return nil }
        let text = fields[5]
        switch fields[4] {
        case "tag":
            guard let tag = EntityTag(parsing: text) else { return nil }
            condition = .noneMatch(tag)
        case "date":
            guard HTTPDate(parsing: text) != nil else { return nil }
            condition = .modifiedSince(text)
        default: return nil
        }
        source = fields[1]
        self.size = size
        self.modified = modified
    }

    private static let version = "1"
    private static let bootVersion = "2"

    /// Nil where the line would be too long.
    var encoded: [UInt8]? {
        let (kind, validator) =
            switch condition {
            case .noneMatch(let tag): ("tag", tag.text)
            case .modifiedSince(let date): ("date", date)
            }
        var line = Array((bootID == nil ? Self.version : Self.bootVersion).utf8)
        for field in [bootID, source, String(size), String(modified), kind, validator] {
            guard let field else { continue }
            line.append(UInt8(ascii: " "))
            line += field.utf8
        }
        return line.count <= Self.maxBytes ? line : nil
    }

    /// Whether a file is the one that was written, and came from this source; `bootID` is asked for the present boot.
    ///
    /// Of a file that others can write, or that is another user's, nothing is believed.
    func isOf(
        _ status: FileStatus,
        from source: URL,
        variant: String = "",
        bootID: () throws -> String
    ) -> Bool {
        status.kind == .regular && status.isOwn && status.size == size && status.modified == modified
            && self.source == Self.key(of: source, variant) && (self.bootID == nil || self.bootID == (try? bootID()))
    }

    /// Of the whole URL, whose query may decide what it gives, and without telling it.
    private static func key(of source: URL, _ variant: String) -> String {
        PartialKey(url: source, name: variant).description
    }
}
