import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ControlRecordTests {
    @Test func `a record is read back as it was written`() throws {
        var record = try ControlRecord.sample()
        #expect(try ControlRecord(decoding: try #require(record.encoded())) == record)
        record.representation.isDecoded = true
        record.decoded = ControlRecord.DecodedFile(device: 2049, inode: 7, size: 5000, isDurable: true)
        #expect(try ControlRecord(decoding: try #require(record.encoded())) == record)
        #expect(record.ofFinalFile.matches(.init(device: 1, inode: 7)) && record.ofFinalFile.durable.count == 5000)
        record.decoded = nil
        #expect(record.ofFinalFile == record)
        record.representation = RepresentationMetadata()
        record.totalBytes = nil
        record.written = ByteRangeSet([0..<Int64.max])
        record.durable = ByteRangeSet()
        record.state = .receiving
        #expect(try ControlRecord(decoding: try #require(record.encoded())) == record)
    }

    /// Later versions must read this format; changing this text requires a new version number.
    @Test func `a record is two lines of text`() throws {
        let payload =
            #"{"boot":"8f5b","device":2049,"durable":[[0,100]],"finalName":"näme (1).zip","#
            + #""inode":18446744073709551615,"name":"näme.zip","#
            + #""representation":{"contentCoding":"gzip","contentType":"text/plain","entityTag":"\"v\\\"1\"","#
            + #""lastModified":"Tue, 01 Jul 2025 10:00:00 GMT","refusesRanges":false},"#
            + #""total":1000,"url":"https://example.org/näme.zip?q=1/2","#
            + #""written":[[0,200],[300,1000]]}"#
        let text = String(decoding: try #require(try ControlRecord.sample().encoded()), as: UTF8.self)
        let stored = payload.replacing("/näme.zip", with: "/n%C3%A4me.zip")
        let checksum = String(CRC32C.checksum(of: stored.utf8), radix: 16)
        #expect(text == "headrace-record 1 \(checksum) \(stored.utf8.count)\n\(stored)\n")
        #expect(checksum.count == 8)
    }

    @Test func `a checksum with leading zeros keeps its eight digits`() throws {
        var record = try ControlRecord.sample()
        var text = ""
        repeat {
            record.file.inode -= 1
            text = String(decoding: try #require(record.encoded()), as: UTF8.self)
        } while !text.hasPrefix("headrace-record 1 00")
        #expect(text.split(separator: " ")[2].count == 8)
        #expect(try ControlRecord(decoding: Array(text.utf8)) == record)
    }

    @Test(arguments: [
        "https://secret:word@example.org/a", "https://secret@example.org/a", "https://:word@example.org/a",
        "https://secret:@example.org/a", "https://s%65cret:w%40rd@example.org/a", "https://secret:word:x@example.org/a",
        "https://@example.org/a",
    ])
    func `S10 user and password are never written to a record`(_ text: String) throws {
        let url = try #require(URL(string: text))
        let record = try ControlRecord.sample(url: url)
        #expect(record.url.absoluteString == "https://example.org/a")
        let bytes = String(decoding: try #require(record.encoded()), as: UTF8.self)
        #expect(!bytes.contains("@") && !bytes.contains("secret") && !bytes.contains("word"))
        #expect(url.identity == record.url)
    }

    @Test(arguments: [
        "http://secret:word@[2001:db8::1]:8080/a%2Fb?c=@d#e", "HTTP://secret:word@EXAMPLE.org:80",
        "http://secret:word@bücher.example/ü?ü", "http://secret:word@h/%zz?a=|b",
        "http://secret:word@[fe80::1%25eth0]/",
    ])
    func `S10 user and password are not written with unusual hosts and paths either`(_ text: String) throws {
        guard let url = URL(string: text) else { return }
        let record = try ControlRecord.sample(url: url)
        let bytes = String(decoding: try #require(record.encoded()), as: UTF8.self)
        #expect(!bytes.contains("secret") && !bytes.contains("word"))
        #expect(try ControlRecord(decoding: Array(bytes.utf8)) == record)
    }

    @Test func `a relative URL is recorded as an absolute URL without its fragment`() throws {
        for base in ["https://secret:word@example.org/folder/", "https://example.org/folder/"] {
            let url = try #require(URL(string: "../a#part", relativeTo: URL(string: base)))
            #expect(url.identity == URL(string: "https://example.org/a"))
        }
    }

    @Test func `X01 under the same boot ID all written bytes are trusted`() throws {
        let record = try ControlRecord.sample()
        #expect(record.trusted(bootID: "8f5b", fileSize: 1000, file: record.file) == record.written)
    }

    @Test(arguments: ["other", "", "8f5", "8F5B"])
    func `X02 after a reboot only synced bytes are trusted`(_ bootID: String) throws {
        let record = try ControlRecord.sample()
        #expect(record.trusted(bootID: bootID, fileSize: 1000, file: record.file) == record.durable)
    }

    @Test func `an unknown boot ID never matches`() throws {
        var record = try ControlRecord.sample()
        record.bootID = ""
        #expect(record.trusted(bootID: "", fileSize: 1000, file: record.file) == record.durable)
    }

    @Test(
        arguments: [(1000, 900), (999, 899), (350, 250), (250, 200), (100, 100), (0, 0), (-1, 0), (Int64.max, 900)]
            as [(Int64, Int64)]
    )
    func `K14 K15 only bytes inside both the record and the file are trusted`(
        _ fileSize: Int64,
        _ count: Int64
    ) throws {
        let record = try ControlRecord.sample()
        #expect(record.trusted(bootID: "8f5b", fileSize: fileSize, file: record.file).count == count)
        let durable = record.trusted(bootID: "other", fileSize: fileSize, file: record.file)
        #expect(durable.count == max(0, min(fileSize, 100)))
    }

    @Test func `K16 the size of a preallocated file validates no bytes`() throws {
        var record = try ControlRecord.sample()
        record.written = ByteRangeSet()
        record.durable = ByteRangeSet()
        #expect(record.trusted(bootID: "8f5b", fileSize: 1000, file: record.file).isEmpty)
    }

    @Test func `K13 another file under the same name is not trusted`() throws {
        let record = try ControlRecord.sample()
        var file = record.file
        file.inode -= 1
        #expect(record.trusted(bootID: "8f5b", fileSize: 1000, file: file).isEmpty)
    }

    @Test func `X02 a disk may change its device number at any boot, and synced bytes stay valid`() throws {
        let record = try ControlRecord.sample()
        var device = record.file
        device.device += 1
        var inode = device
        inode.inode -= 1
        #expect(record.matches(device))
        #expect(!record.matches(inode))
        for bootID in ["other", "", "8f5b"] {
            #expect(record.trusted(bootID: bootID, fileSize: 1000, file: device) == record.durable)
            #expect(record.trusted(bootID: bootID, fileSize: 1000, file: inode).isEmpty)
        }
    }

    @Test func `a record with too many ranges saves the first ones`() throws {
        var record = try ControlRecord.sample()
        record.totalBytes = nil
        let far = Int64.max - 1_000_000
        record.written = ByteRangeSet((0..<20_000).lazy.map { far + $0 * 20..<far + $0 * 20 + 19 })
        record.durable = ByteRangeSet((0..<60_000).lazy.map { far + $0 * 6..<far + $0 * 6 + 2 })
            .intersection(record.written)
        let bytes = try #require(record.encoded())
        let decoded = try ControlRecord(decoding: bytes)
        #expect(decoded.written.ranges == Array(record.written.ranges.prefix(ControlRecord.maxRanges)))
        #expect(decoded.durable.ranges == Array(record.durable.ranges.prefix(ControlRecord.maxRanges)))
        #expect(decoded.durable.isSubset(of: decoded.written))

        // Durable ranges inside written ranges that were dropped.
        record.durable = ByteRangeSet(record.written.ranges.suffix(15_000))
        let cut = try ControlRecord(decoding: try #require(record.encoded()))
        #expect(cut.durable == cut.written.intersection(record.durable))
        #expect(cut.durable.ranges.count == ControlRecord.maxRanges - 5_000)
    }

    @Test func `a record that exceeds the size limit is not written`() throws {
        var record = try ControlRecord.sample()
        record.representation.entityTag = String(repeating: "e", count: ControlRecord.maxBytes)
        #expect(record.encoded() == nil)
        record.representation.entityTag = String(repeating: "e", count: ControlRecord.maxBytes - 1000)
        #expect(try ControlRecord(decoding: try #require(record.encoded())) == record)
    }
}

extension ControlRecord {
    /// A record with every field set and characters that JSON escapes.
    static func sample(url: URL? = URL(string: "https://example.org/n%C3%A4me.zip?q=1/2")) throws -> ControlRecord {
        var record = ControlRecord(
            url: try #require(url),
            fileName: "näme.zip",
            representation: RepresentationMetadata(
                entityTag: #""v\"1""#,
                lastModified: "Tue, 01 Jul 2025 10:00:00 GMT",
                contentType: "text/plain",
                contentCoding: "gzip"
            ),
            totalBytes: 1000,
            bootID: "8f5b",
            file: FileIdentity(device: 2049, inode: .max)
        )
        record.written = ByteRangeSet([0..<200, 300..<1000])
        record.durable = ByteRangeSet([0..<100])
        record.state = .finalising("näme (1).zip")
        return record
    }
}
