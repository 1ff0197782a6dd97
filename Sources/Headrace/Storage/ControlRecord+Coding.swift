import HeadracePlatform

/// A record is two lines of text: what to check the second by, and its fields as JSON.
///
///     headrace-record 1 <CRC-32C of the payload, 8 hex digits> <bytes of the payload>
///     {"boot":…}
extension ControlRecord {
    static let version = 1
    /// The largest record; it bounds what reading a bad one costs.
    static let maxBytes = 1 << 20
    /// The most ranges of each kind in a record, so that it stays below its largest size.
    static let maxRanges = 8192

    enum DecodingFailure: Error, Hashable {
        /// Another kind of file.
        case notARecord
        /// A record of a later release, which must be left as it is.
        case tooNew(version: Int)
        /// A record that cannot be used.
        case damaged(Damage)
    }

    enum Damage: Sendable, Hashable {
        case tooLarge
        /// The first line is not one.
        case header
        /// Bytes are missing, or there are too many.
        case length
        case checksum
        /// The fields are missing, or cannot all be true.
        case contents
    }

    /// Takes nothing for granted about the bytes.
    init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        let payload = try Self.payload(of: bytes)
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(payload)),
            let record = fields.record, record.isPlausible
        else { throw .damaged(.contents) }
        self = record
    }

    /// The record's bytes; nil where it would be larger than a record may be.
    ///
    /// Of too many ranges the first are kept: a record may always claim less.
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
            // A cut, or a rename that overtook its data, can leave the beginning or nothing.
            throw magic.utf8.starts(with: bytes) ? .damaged(.length) : .notARecord
        }
        // The version comes before all other checks: a later one may have other rules.
        let foundVersion = try version(in: bytes.dropFirst(magic.utf8.count))
        guard foundVersion <= version else { throw .tooNew(version: foundVersion) }
        guard bytes.count <= maxBytes else { throw .damaged(.tooLarge) }
        guard let lineEnd = bytes.firstIndex(of: newline) else { throw .damaged(.length) }
        let payload = bytes[(lineEnd + 1)...].dropLast()
        let header = bytes[..<lineEnd].split(separator: space, omittingEmptySubsequences: false)
        guard header.count == 4, header[1].elementsEqual(String(version).utf8) else { throw .damaged(.header) }
        // Compared as text: each number has one spelling, and none in the bytes needs reading.
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

    /// Whether the fields can all be true, and the names cannot lead out of the directory.
    private var isPlausible: Bool {
        let names =
            switch state {
            case .receiving: [fileName]
            case .finalising(let finalName): [fileName, finalName]
            }
        return names.allSatisfy(SafeFileName.isComponent) && written.end <= totalBytes ?? .max && totalBytes ?? 0 >= 0
            && durable.isSubset(of: written)
    }
}

/// The payload's fields by the names they have on disk; those that are unknown are passed over.
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
    /// Present once the record is in its last state.
    var finalName: String?
    /// The digest of each piece of a file of that total; zero where there is none.
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
        if case .finalising(let name) = record.state { finalName = name }
    }

    /// Nil where the URL is none.
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
        if let total, let pieces { record.pieces = ReceivedPieces(fileSize: total, digests: pieces) }
        record.state = finalName.map(ControlRecord.State.finalising) ?? .receiving
        return record
    }
}
