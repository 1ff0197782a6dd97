/// The text format of a journal: a header line, then the changes, each with a checksum.
///
///     headrace-registry 1 <CRC-32C of "headrace-registry 1", 8 hexadecimal digits>
///     <CRC-32C of the payload, 8 hexadecimal digits> ["add",…]
///
/// An empty line precedes each change: if the newline that ends the previous line is corrupted, the change is still
/// intact. The header has the same form in all versions.
enum RegistryJournal {
    static let version = 1
    /// The maximum length of a line, which limits the cost of reading a damaged one.
    static let maxLineBytes = 1 << 20
    static let maxPayloadBytes = maxLineBytes - 9
    /// The maximum length of the payload of an added download; leaves room in the line for any later state.
    static let maxEntryBytes = maxLineBytes / 2
    /// The maximum length of the payload of an added download up to the end of its piece hashes.
    ///
    /// If the piece hashes would exceed it, all of them are omitted.
    static let maxEntryBytesWithPieces = maxEntryBytes / 2
    /// The maximum length of the payload of a state.
    static let maxStateBytes = maxLineBytes / 4
    static let newline = UInt8(ascii: "\n")

    private static let magic = "headrace-registry "
    private static let space = UInt8(ascii: " ")

    static let header: [UInt8] = header(of: version)

    static func header(of version: Int) -> [UInt8] {
        let text = "\(magic)\(version)"
        return Array("\(text) \(CRC32C.checksum(of: text.utf8).hexadecimal)\n".utf8)
    }

    /// Returns the version in a header line without its newline; `nil` if the line is not an intact header.
    static func version(of line: ArraySlice<UInt8>) -> Int? {
        let fields = line.split(separator: space, omittingEmptySubsequences: false)
        guard fields.count == 3, line.starts(with: magic.utf8) else { return nil }
        let version = Int(String(decoding: fields[1], as: UTF8.self))
        guard let version, line.elementsEqual(header(of: version).dropLast()) else { return nil }
        return version
    }

    static func append(_ payload: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(newline)
        bytes.append(contentsOf: line(of: payload))
    }

    static func line(of payload: [UInt8]) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(payload.count + 10)
        line.append(contentsOf: CRC32C.checksum(of: payload).hexadecimal.utf8)
        line.append(space)
        line.append(contentsOf: payload)
        line.append(newline)
        return line
    }

    /// Returns the payload of a line, which is passed without its newline; `nil` if the line is damaged or longer than
    /// `maxBytes`.
    static func payload(of line: ArraySlice<UInt8>, maxBytes: Int = maxLineBytes) -> ArraySlice<UInt8>? {
        let payload = line.dropFirst(9)
        guard line.count <= maxBytes, line.dropFirst(8).first == space,
            line.prefix(8).elementsEqual(CRC32C.checksum(of: payload).hexadecimal.utf8)
        else { return nil }
        return payload
    }
}
