/// What a download's record on the disk calls durable, read without the library that wrote it.
enum DurableClaim: Equatable {
    /// Half-open ranges of bytes that must be right.
    case ranges([Range<Int>])
    /// The record cannot be read, which its way of being replaced is there to prevent.
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

    /// How many bytes from the start on are claimed.
    var prefix: Int {
        guard case .ranges(let ranges) = self, let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// The pairs of numbers in `"durable":[[0,10],[20,30]]`.
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

    /// CRC-32C, a bit at a time: records are short.
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
