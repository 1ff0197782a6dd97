import HeadracePlatform

/// What a finished file keeps of the version that it is, in an extended attribute.
///
/// One line of text, `1 HASH VALIDATOR`, of the entity tag, or the date behind the place that sent it. The hash is of what the
/// file came from and of its size and time, with which it is believed wherever it moves; whoever unpacks an archive may have
/// written it, so all is checked. Where the bytes were not synced before it, it is `2 HASH VALIDATOR`, and believed until the
/// system starts again. If the server could know who requested the file, the lines are `3 HASH REQUESTER VALIDATOR` and
/// `4 HASH REQUESTER VALIDATOR`; releases that do not know them download the file again.
struct SavedValidator: Sendable, Hashable {
    /// With this name and the tags that most servers have, ext4 keeps the line in the inode, where it costs no block.
    static let attribute = "user.headrace.version"
    /// Where file managers look for the address that a file came from.
    static let originAttribute = "user.xdg.origin.url"
    /// The longest line; a file system may have no room for more.
    static let maxBytes = 1024

    private let hash: String
    /// Whether it is believed in one boot only.
    private let isOfBoot: Bool
    /// The requester of the file; `nil` if it is anonymous, or if an earlier release saved the line.
    let requester: RequesterFingerprint?
    let condition: Precondition

    /// `variant` tells apart requests of one URL, as ``DownloadRequest/variant`` has it; `bootID` is the present boot of a
    /// file whose bytes may not be on the disk yet, and nil where they are.
    init(
        _ condition: Precondition,
        of source: URL,
        variant: String = "",
        requester: RequesterFingerprint? = nil,
        _ stamp: FileStamp,
        bootID: String?
    ) {
        hash = Self.hash(of: source, variant, size: stamp.size, modified: stamp.modified, bootID)
        isOfBoot = bootID != nil
        self.requester = requester
        self.condition = condition
    }

    /// Nil where the line is none, or one of a later release.
    init?(decoding bytes: [UInt8]) {
        let line = String(decoding: bytes, as: UTF8.self)
        guard bytes.count <= Self.maxBytes, let version = line.split(separator: " ").first.flatMap({ Version($0) })
        else { return nil }
        let splits = version.hasRequester ? 3 : 2
        let fields = line.split(separator: " ", maxSplits: splits, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == splits + 1, let condition = Precondition(parsing: fields[splits]) else { return nil }
        requester = version.hasRequester ? RequesterFingerprint(parsing: fields[2]) : nil
        guard version.hasRequester == (requester != nil) else { return nil }
        self.condition = condition
        hash = fields[1]
        isOfBoot = version.isOfBoot
    }

    /// The number at the front of a line, which tells what follows.
    private struct Version {
        let hasRequester: Bool
        let isOfBoot: Bool

        init?(_ text: Substring) {
            switch text {
            case "1": (hasRequester, isOfBoot) = (false, false)
            case "2": (hasRequester, isOfBoot) = (false, true)
            case "3": (hasRequester, isOfBoot) = (true, false)
            case "4": (hasRequester, isOfBoot) = (true, true)
            default: return nil
            }
        }

        static func text(hasRequester: Bool, isOfBoot: Bool) -> String {
            hasRequester ? isOfBoot ? "4" : "3" : isOfBoot ? "2" : "1"
        }
    }

    /// Nil where the line would be too long.
    var encoded: [UInt8]? {
        var line: [UInt8] = []
        line.reserveCapacity(64)
        let version = Version.text(hasRequester: requester != nil, isOfBoot: isOfBoot)
        for word in [version, " ", hash, " ", requester.map { "\($0.text) " } ?? "", condition.text] {
            line.append(contentsOf: word.utf8)
        }
        return line.count <= Self.maxBytes ? line : nil
    }

    /// Whether a file is the one that was written, and came from this source; `bootID` is asked for the present boot.
    ///
    /// Of a file that others can write, or that is another user's, nothing is believed.
    func matches(
        _ status: FileStatus,
        from source: URL,
        variant: String = "",
        bootID: () throws -> String
    ) -> Bool {
        let boot = isOfBoot ? try? bootID() : nil
        return status.kind == .regular && status.isOwn && (boot != nil) == isOfBoot
            && hash == Self.hash(of: source, variant, size: status.size, modified: status.modified, boot)
    }

    /// Of the whole URL, whose query may decide what it gives, and without telling it.
    private static func hash(
        of source: URL,
        _ variant: String,
        size: Int64,
        modified: Int64,
        _ bootID: String?
    ) -> String {
        Fingerprint(url: source) { hash in
            hash.add("\(size)")
            hash.add(" ")
            hash.add("\(modified)")
            hash.add(" ")
            hash.add(bootID ?? "")
            hash.add("\n")
            hash.add(variant)
        }.description
    }
}
