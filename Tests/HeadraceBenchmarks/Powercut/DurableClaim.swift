/// The durable ranges in a resume record on the disk, read without the library that wrote it.
enum DurableClaim: Equatable {
    /// The half-open ranges of bytes that must be right.
    case ranges([Range<Int>])
    /// The record is unreadable, which its atomic replacement must prevent.
    case damaged(String)

    /// Reads `headrace-record 1 <CRC-32C> <length>`, a line end, and that many bytes of JSON.
    init(recordAt path: String) {
        let text = FileSystem.text(of: path, limit: 1 << 20)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let header = lines.first?.split(separator: " ") ?? []
        guard lines.count == 3, lines[2].isEmpty, header.count == 4, header[0] == "headrace-record" else {
            self = .damaged("not a record: \(text.utf8.count) bytes")
            return
        }
        guard header[3] == String(lines[1].utf8.count), UInt32(header[2], radix: 16) == Self.checksum(lines[1]) else {
            self = .damaged("length or checksum")
            return
        }
        self = Self.ranges(in: lines[1]).map(DurableClaim.ranges) ?? .damaged("no durable ranges")
    }

    /// The number of claimed bytes from the start of the file.
    var prefix: Int {
        guard case .ranges(let ranges) = self, let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Parses the pairs of numbers in `"durable":[[0,10],[20,30]]`.
    private static func ranges(in json: Substring) -> [Range<Int>]? {
        guard let start = json.firstRange(of: "\"durable\":[")?.upperBound else { return nil }
        var ranges: [Range<Int>] = []
        var rest = json[start...]
        while rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let bounds = rest[..<end].dropFirst().split(separator: ",").compactMap { Int($0) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
            ranges.append(bounds[0]..<bounds[1])
            rest = rest[end...].dropFirst()
            if rest.first == "," { rest = rest.dropFirst() }
        }
        return rest.first == "]" ? ranges : nil
    }

    /// Returns the CRC-32C, computed bit by bit because records are short.
    private static func checksum(_ text: Substring) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in text.utf8 {
            crc ^= UInt32(byte)
            for _ in 0..<8 {
                let isOdd = crc & 1 == 1
                crc >>= 1
                if isOdd { crc ^= 0x82f6_3b78 }
            }
        }
        return ~crc
    }
}
