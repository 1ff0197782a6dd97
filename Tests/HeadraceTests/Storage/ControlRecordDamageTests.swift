import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ControlRecordDamageTests {
    typealias Failure = ControlRecord.DecodingFailure

    /// The failure of decoding these bytes; `nil` if they are a record.
    private func failure(_ bytes: [UInt8]) -> Failure? {
        do throws(Failure) {
            _ = try ControlRecord(decoding: bytes)
            return nil
        } catch {
            return error
        }
    }

    private func failure(_ text: String) -> Failure? {
        failure(Array(text.utf8))
    }

    /// The failure of decoding a payload with a valid checksum.
    private func failure(payload: String) -> Failure? {
        failure(ControlRecord.framed(Array(payload.utf8)))
    }

    private func payload(replacing old: String = "", with new: String = "") throws -> String {
        let record = String(decoding: try #require(try ControlRecord.sample().encoded()), as: UTF8.self)
        let payload = String(try #require(record.split(separator: "\n").last))
        #expect(old.isEmpty || payload.contains(old))
        return old.isEmpty ? payload : payload.replacing(old, with: new)
    }

    @Test func `K18 a record truncated at any byte is damaged and never a crash`() throws {
        let bytes = try #require(try ControlRecord.sample().encoded())
        for length in 0..<bytes.count {
            #expect(failure(Array(bytes.prefix(length))) == .damaged(.length), "cut at \(length)")
        }
        #expect(failure(bytes) == nil)
    }

    @Test func `K18 a record that lost its beginning is not a record`() throws {
        let bytes = try #require(try ControlRecord.sample().encoded())
        for length in 1..<bytes.count { #expect(failure(Array(bytes.dropFirst(length))) == .notARecord) }
    }

    @Test func `K19 a record with any one bit flipped is rejected`() throws {
        let bytes = try #require(try ControlRecord.sample().encoded())
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(failure(flipped) != nil, "bit \(bit)")
        }
    }

    @Test(arguments: ["\n", "\0", " ", "headrace-record 1 00000000 0\n\n"])
    func `a record with bytes after its end is damaged`(_ extra: String) throws {
        let bytes = try #require(try ControlRecord.sample().encoded()) + Array(extra.utf8)
        #expect(failure(bytes) == .damaged(.length))
    }

    @Test(arguments: ["2", "10", "999999999999999999"])
    func `K20 a record from a newer version is recognized, whatever else it contains`(_ version: String) throws {
        let number = try #require(Int(version))
        for rest in [" ", "\n", " \0\u{ff}", " 00000000 2\n{}\n", " x" + String(repeating: "y", count: 2 << 20)] {
            #expect(failure("headrace-record " + version + rest) == .tooNew(version: number))
        }
    }

    @Test(arguments: [
        "headrace-record 0 00000000 0\n\n", "headrace-record -1 00000000 0\n\n", "headrace-record  1 00000000 0\n\n",
        "headrace-record 99999999999999999999999999 \n", "headrace-record x 0 0\n", "headrace-record \n",
        "headrace-record 1\n{}\n", "headrace-record 1 00000000 0 0\n\n", "headrace-record 01 00000000 0\n\n",
        "headrace-record 1x00000000 0\n\n", "headrace-record 1 00000000\n\n",
    ])
    func `an invalid first line is damaged`(_ text: String) {
        #expect(failure(text) == .damaged(.header))
    }

    @Test(arguments: ["+2", "02", "2.0", "2 ", "0x2", "", "-2", "99999999999999999999999999", "3"])
    func `a length in any other spelling is damaged`(_ length: String) {
        let checksum = String(CRC32C.checksum(of: "{}".utf8), radix: 16)
        let reason: ControlRecord.Damage = length == "2 " ? .header : .length
        #expect(failure("headrace-record 1 \(checksum) \(length)\n{}\n") == .damaged(reason))
        #expect(failure("headrace-record 1 \(checksum) 2\n{}\n") == .damaged(.contents))
        #expect(failure("headrace-record 1 \(checksum.uppercased()) 2\n{}\n") == .damaged(.checksum))
    }

    @Test(arguments: ["x", "\n", "\0\0\0\0", "{}", "HEADRACE-RECORD 1", " headrace-record 1 ", "headrace-journal 1 "])
    func `another kind of file is not a record`(_ text: String) {
        #expect(failure(text) == .notARecord)
    }

    @Test func `a record larger than the limit is damaged`() throws {
        let blanks = String(repeating: " ", count: ControlRecord.maxBytes)
        #expect(failure(payload: try payload() + blanks) == .damaged(.tooLarge))
    }

    @Test func `K22 unknown fields are ignored`() throws {
        let more = #"{"aaa":[{"b":null}],"mirrors":{"x":1e9},"zzz":"\u0000","boot""#
        #expect(failure(payload: try payload(replacing: #"{"boot""#, with: more)) == nil)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "1", "\"\"", "{", "}", "{\"url\"", "\u{FEFF}", "\0", "{}{}", "NaN", "-", "1e",
        "\u{FF}\u{FE}", "\"\\ud800\"",
    ])
    func `an invalid payload is damaged`(_ text: String) {
        #expect(failure(payload: text) == .damaged(.contents))
    }

    @Test func `a payload that is not text is damaged`() {
        for bytes: [UInt8] in [
            [0xff], [0xff, 0xfe], [0xff, 0xfe, 0, 0], [0, 0, 0xfe, 0xff], [0xc0, 0x80], [0x7b, 0],
        ] {
            #expect(failure(ControlRecord.framed(bytes)) == .damaged(.contents))
        }
    }

    @Test(arguments: [
        (#""total":1000"#, #""total":999"#), (#""total":1000"#, #""total":-1"#), (#""total":1000"#, #""total":1e400"#),
        (#""total":1000"#, #""total":9223372036854775808"#), (#""total":1000"#, #""total":1000.5"#),
        (#""total":1000"#, #""total":"1000""#), (#"[[0,100]]"#, "[[0,201]]"), (#"[[0,100]]"#, "[[200,300]]"),
        (#"[[0,100]]"#, "[[-1,100]]"), (#"[300,1000]"#, "[300,9223372036854775807]"), (#"[300,1000]"#, "[100,1000]"),
        (#"[300,1000]"#, "[300,18446744073709551616]"), (#""device":2049"#, #""device":-1"#),
        (#""inode":18446744073709551615"#, #""inode":18446744073709551616"#), (#""boot":"8f5b","#, ""),
        (#""durable":[[0,100]],"#, ""), (#""boot":"8f5b""#, #""boot":null"#),
    ])
    func `K18 inconsistent fields are damaged even if the checksum matches`(_ old: String, _ new: String) throws {
        #expect(failure(payload: try payload(replacing: old, with: new)) == .damaged(.contents))
    }

    @Test(arguments: ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\u0000b", String(repeating: "n", count: 256)])
    func `S01 a name in a record cannot lead out of the directory`(_ name: String) throws {
        for old in [#""name":"näme.zip""#, #""finalName":"näme (1).zip""#] {
            let key = old.prefix { $0 != ":" }
            let changed = try payload(replacing: old, with: "\(key):\"\(name)\"")
            #expect(failure(payload: changed) == .damaged(.contents))
        }
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}"), ("[", ""), (#"{"a":"#, "")])
    func `K18 the deepest possible nesting is damaged and never a crash`(_ open: String, _ close: String) throws {
        for depth in [100, 500, 600, 10_000, 100_000] {
            let nest = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            for key in ["written", "unknown"] {
                let changed = try payload(replacing: #""written":[[0,200],[300,1000]]"#, with: "\"\(key)\":\(nest)")
                let reason: ControlRecord.Damage =
                    changed.utf8.count > ControlRecord.maxBytes - 99 ? .tooLarge : .contents
                #expect(failure(payload: changed) == .damaged(reason))
            }
        }
    }

    @Test(arguments: 0..<10)
    func `K18 random bytes are never a record and never crash`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let record = try #require(try ControlRecord.sample().encoded())
        let payload = Array(try payload().utf8)
        let tokens = [
            "[", "]", "{", "}", ",", ":", "\"", "-", "1e999", "9223372036854775808", "null", "\\u", "\0", "[[0,",
        ]
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                #expect(failure(garbage(using: &random)) != nil)
            case 1:
                #expect(
                    failure(Array(record.prefix(.random(in: 0..<40, using: &random))) + garbage(using: &random)) != nil
                )
            case 2:
                // Repeat a part of the record at a random position.
                var bytes = record
                let (from, to) = (
                    bytes.indices.randomElement(using: &random) ?? 0, Int.random(in: 1...60, using: &random)
                )
                let part = Array(bytes[from..<min(bytes.count, from + to)])
                bytes.insert(contentsOf: part, at: .random(in: 0...bytes.count, using: &random))
                #expect(failure(bytes) != nil)
            default:
                // Fix the checksum so that the bytes reach the innermost checks.
                var bytes = payload
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    if Bool.random(using: &random), let token = tokens.randomElement(using: &random) {
                        bytes.insert(contentsOf: token.utf8, at: index)
                    } else {
                        bytes[index] = .random(in: .min ... .max, using: &random)
                    }
                }
                if let taken = try? ControlRecord(decoding: ControlRecord.framed(bytes)) {
                    #expect(taken.durable.isSubset(of: taken.written))
                    #expect(taken.written.end <= taken.totalBytes ?? .max)
                    #expect(try ControlRecord(decoding: try #require(taken.encoded())) == taken)
                }
            }
        }
    }

    private func garbage(using random: inout SeededRandom) -> [UInt8] {
        (0..<Int.random(in: 0...80, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
    }
}
