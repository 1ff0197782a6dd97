import HeadracePlatform

/// The validator of a finished file, saved in an extended attribute of the file.
///
/// The attribute is one line: `1 HASH VALIDATOR`.
/// - The hash covers the source URL, size and modification time, so the attribute stays valid when the file is moved.
/// - The validator is an entity tag, or a modification date preceded by the fingerprint of the URL that sent the date.
/// - The number is 2 if the file was not synced before its validator was saved: the line expires at the next boot.
/// - If the server could identify the requester, a ``RequesterFingerprint`` follows the hash, and the number is 3
///   instead of 1, or 4 instead of 2. Releases that do not know these numbers download the file again.
///
/// The attribute is untrusted input: an archive may have created it.
struct SavedValidator: Sendable, Hashable {
    /// The name of the extended attribute, which is short so that ext4 can store the attribute in the inode.
    static let attribute = "user.headrace.version"
    /// The attribute in which file managers look for the source URL of a file.
    static let originAttribute = "user.xdg.origin.url"
    /// The maximum length of the line in bytes; file systems may have no room for more.
    static let maxBytes = 1024

    private let hash: String
    /// Whether the line expires at the next boot.
    private let isBootSpecific: Bool
    /// The requester that downloaded the file; `nil` if it is anonymous.
    let requester: RequesterFingerprint?
    let condition: Precondition

    /// Creates the validator; `variant` distinguishes requests of one URL, as in ``DownloadRequest/variant``.
    ///
    /// `bootID` is the current boot if the bytes may not be on the disk yet, else `nil`.
    init(
        _ condition: Precondition,
        of source: URL,
        variant: String = "",
        requester: RequesterFingerprint? = nil,
        _ stamp: FileStamp,
        bootID: String?
    ) {
        hash = Self.hash(of: source, variant, stamp, bootID)
        isBootSpecific = bootID != nil
        self.requester = requester
        self.condition = condition
    }

    /// Decodes a line; returns `nil` if it is malformed or was written by a later release.
    init?(decoding bytes: [UInt8]) {
        let line = String(decoding: bytes, as: UTF8.self)
        guard bytes.count <= Self.maxBytes, let number = Int64(digits: line.prefix { $0 != " " }),
            (1...4).contains(number)
        else { return nil }
        let hasRequester = number > 2
        let splits = hasRequester ? 3 : 2
        let fields = line.split(separator: " ", maxSplits: splits, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == splits + 1, let condition = Precondition(parsing: fields[splits]) else { return nil }
        requester = hasRequester ? RequesterFingerprint(parsing: fields[2]) : nil
        guard hasRequester == (requester != nil) else { return nil }
        self.condition = condition
        hash = fields[1]
        isBootSpecific = number.isMultiple(of: 2)
    }

    /// The encoded line, or `nil` if it would be too long.
    var encoded: [UInt8]? {
        var line: [UInt8] = []
        line.reserveCapacity(64)
        let number = (requester == nil ? 1 : 3) + (isBootSpecific ? 1 : 0)
        for word in [String(number), " ", hash, " ", requester.map { "\($0.text) " } ?? "", condition.text] {
            word.withBytes { line.append(contentsOf: $0) }
        }
        return line.count <= Self.maxBytes ? line : nil
    }

    /// Returns whether the file is unchanged since this validator was saved for it, and was downloaded from `source`.
    ///
    /// Calls `bootID` only if the line expires at the next boot.
    ///
    /// A file that is world-writable or belongs to another user never matches.
    func matches(_ status: FileStatus, from source: URL, variant: String = "", bootID: () throws -> String) -> Bool {
        let boot = isBootSpecific ? try? bootID() : nil
        return status.kind == .regular && status.isOwn && (boot != nil) == isBootSpecific
            && hash == Self.hash(of: source, variant, FileStamp(status), boot)
    }

    /// Returns a hash of the complete URL, whose query may select the content, of the file's size and time, and of the
    /// other parameters.
    private static func hash(of source: URL, _ variant: String, _ stamp: FileStamp, _ bootID: String?) -> String {
        Fingerprint(url: source) { hash in
            hash.add(String(stamp.size))
            hash.add(" ")
            hash.add(String(stamp.modified))
            hash.add(" ")
            hash.add(bootID ?? "")
            hash.add("\n")
            hash.add(variant)
        }.description
    }
}
