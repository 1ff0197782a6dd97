import HeadracePlatform

/// The file format: a header line to verify the payload, then the fields as one line of JSON.
///
///     headrace-record 1 <CRC-32C of the payload, 8 hex digits> <bytes of the payload>
///     {"boot":…}
extension ControlRecord {
    static let version = 1
    /// The maximum size of an encoded record, which limits the cost of reading an invalid one.
    static let maxBytes = 1 << 20
    /// The maximum number of `written` ranges, and of `durable` ranges, in an encoded record, so that both fit into
    /// `maxBytes`.
    static let maxRanges = 8192

    enum DecodingFailure: Error, Hashable {
        /// The file does not contain a record.
        case notARecord
        /// The record was written by a later release and must not be modified.
        case tooNew(version: Int)
        /// The record cannot be used, for the given reason.
        case damaged(Damage)
    }

    enum Damage: Sendable, Hashable {
        case tooLarge
        /// The first line is malformed.
        case header
        /// The record is truncated or has excess bytes.
        case length
        case checksum
        /// Fields are missing or inconsistent.
        case contents
    }

    /// Decodes the contents of a record file, and validates them, since the file is untrusted.
    init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        let payload = try Self.payload(of: bytes)
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(payload)),
            let record = fields.record, record.isPlausible
        else { throw .damaged(.contents) }
        self = record
    }

    /// Returns the encoded record, or `nil` if it would exceed the maximum size.
    ///
    /// Ranges after the first `maxRanges` are dropped: a record may always claim less than was written.
    func encoded() -> [UInt8]? {
        var record = self
        record.written = ByteRangeSet(written.ranges.prefix(Self.maxRanges))
        record.durable = ByteRangeSet(durable.ranges.prefix(Self.maxRanges)).intersection(record.written)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let payload = try? encoder.encode(Fields(record)) else { return nil }
        let bytes = Self.framed(Array(payload))
        return bytes.count <= Self.maxBytes ? bytes : nil
    }

    static func framed(_ payload: [UInt8]) -> [UInt8] {
        let header = "\(magic)\(version) \(CRC32C.checksum(of: payload).hexadecimal) \(payload.count)\n"
        return Array(header.utf8) + payload + [newline]
    }

    private static let magic = "headrace-record "
    private static let newline = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")

    private static func payload(of bytes: [UInt8]) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard bytes.starts(with: magic.utf8) else {
            // A truncation, or a rename that became durable before the data, can leave a prefix or an empty file.
            throw magic.utf8.starts(with: bytes) ? .damaged(.length) : .notARecord
        }
        // The version is checked first, because a later version may have other rules.
        let foundVersion = try version(in: bytes.dropFirst(magic.utf8.count))
        guard foundVersion <= version else { throw .tooNew(version: foundVersion) }
        guard bytes.count <= maxBytes else { throw .damaged(.tooLarge) }
        guard let lineEnd = bytes.firstIndex(of: newline) else { throw .damaged(.length) }
        let payload = bytes[(lineEnd + 1)...].dropLast()
        let header = bytes[..<lineEnd].split(separator: space, omittingEmptySubsequences: false)
        guard header.count == 4, header[1].elementsEqual(String(version).utf8) else { throw .damaged(.header) }
        // Compared as text: each number has exactly one valid spelling, so nothing has to be parsed.
        guard bytes[(lineEnd + 1)...].last == newline, header[3].elementsEqual(String(payload.count).utf8) else {
            throw .damaged(.length)
        }
        guard header[2].elementsEqual(CRC32C.checksum(of: payload).hexadecimalDigits) else { throw .damaged(.checksum) }
        return payload
    }

    private static func version(in bytes: ArraySlice<UInt8>) throws(DecodingFailure) -> Int {
        let digits = bytes.prefix(while: \.isDigit)
        guard let end = bytes.dropFirst(digits.count).first else { throw .damaged(.length) }
        guard end == space || end == newline, let version = Int(String(decoding: digits, as: UTF8.self)), version >= 1
        else { throw .damaged(.header) }
        return version
    }

    /// Whether the fields are consistent and the names stay inside the directory.
    private var isPlausible: Bool {
        let names =
            switch state {
            case .receiving: [fileName]
            case .finalising(let finalName): [fileName, finalName]
            }
        return names.allSatisfy(SafeFileName.isComponent) && written.end <= totalBytes ?? .max && totalBytes ?? 0 >= 0
            && durable.isSubset(of: written) && decoded?.size ?? 0 >= 0
    }
}

/// The payload's fields by their names on disk; unknown fields are ignored.
private struct Fields: Codable {
    var url: String
    var name: String
    var representation: RepresentationMetadata
    var total: Int64?
    var written: ByteRangeSet
    var durable: ByteRangeSet
    var boot: String
    var device: UInt64
    var inode: UInt64
    /// The final name; `nil` until the file is about to be renamed.
    var finalName: String?
    var decoded: ControlRecord.DecodedFile?
    /// The digest of each piece of a file of `total` bytes; 0 stands for a piece without a digest.
    var pieces: [UInt64]?

    init(_ record: ControlRecord) {
        url = record.url.absoluteString
        name = record.fileName
        representation = record.representation
        total = record.totalBytes
        written = record.written
        durable = record.durable
        boot = record.bootID
        device = record.file.device
        inode = record.file.inode
        pieces = record.pieces?.digests
        decoded = record.decoded
        if case .finalising(let name) = record.state { finalName = name }
    }

    /// The record, or `nil` if the URL is invalid.
    var record: ControlRecord? {
        guard let url = URL(string: url) else { return nil }
        var record = ControlRecord(
            url: url,
            fileName: name,
            representation: representation,
            totalBytes: total,
            bootID: boot,
            file: ControlRecord.FileIdentity(device: device, inode: inode)
        )
        record.written = written
        record.durable = durable
        record.decoded = decoded
        if let total, let pieces { record.pieces = ReceivedPieces(fileSize: total, digests: pieces) }
        record.state = finalName.map(ControlRecord.State.finalising) ?? .receiving
        return record
    }
}
