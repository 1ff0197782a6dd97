import HeadraceTestSupport
import Testing

@testable import Headrace

/// Piece hashes in a registry: how many are stored, and how invalid ones are handled.
@Suite(.timeLimit(.minutes(4)), .computing)
struct RegistryPiecesTests {
    private typealias Fixture = RegistryFixture
    private static let checksum = Checksum(.sha256, bytes: Array(repeating: 7, count: 32))

    private func pieces(_ count: Int) throws -> PieceHashes {
        let checksum = try #require(Self.checksum)
        return try #require(PieceHashes(length: 1 << 20, checksums: Array(repeating: checksum, count: count)))
    }

    private func entry(
        _ id: UInt64,
        pieces count: Int,
        title: Int = 0,
        hasChecksum: Bool = true
    ) throws -> RegistryEntry {
        var entry = Fixture.entry(id)
        entry.request.expectations.pieces = try pieces(count)
        if hasChecksum { entry.request.expectations.checksums = [try Checksum(.sha256, of: [])] }
        entry.request.expectations.size = Int64(count) << 20
        if title > 0 { entry.request.title = String(repeating: "t", count: title) }
        return entry
    }

    @Test(arguments: [
        (1, 0, true), (6000, 0, true), (6200, 0, false), (1 << 20, 0, false), (6000, 50_000, false),
        (4000, 50_000, true), (1, 300_000, false), (1 << 20, 500_000, false),
    ])
    func `piece hashes are stored if there is room, and rejected if there is none and only they verify the file`(
        _ count: Int,
        _ title: Int,
        _ isKept: Bool
    ) throws {
        let entry = try entry(7, pieces: count, title: title)
        var kept = entry
        if !isKept { kept.request.expectations.pieces = nil }
        try RegistryEncoder.check(entry.request)
        let unverified = try self.entry(7, pieces: count, title: title, hasChecksum: false)
        #expect(((try? RegistryEncoder.check(unverified.request)) != nil) == isKept)
        let message = String(repeating: "m", count: RegistryJournal.maxStateBytes - 100)
        let changes: [RegistryChange] = [.added([entry]), .state(7, .failed(code: "c", message: message))]
        let reader = try Fixture.read(Fixture.journal(changes))
        #expect(reader.findings == RegistryDiagnostics())
        #expect(reader.snapshot[7]?.request == kept.request)
        // A rewrite puts the entry and its state in one line.
        var snapshot = RegistryEncoder.journal(of: Fixture.image(changes).ordered)
        let written = try #require(try snapshot.next())
        #expect(try Fixture.read(written).snapshot == reader.snapshot)
        let command = RegistryCommand.add([entry])
        #expect(try RegistryCommand(decoding: try #require(command.encoded())) == .add([kept]))
    }

    @Test(arguments: [true, false])
    func `piece hashes of a finished or cancelled download are stored only without a checksum`(
        _ hasChecksum: Bool
    ) throws {
        let (file, stamp) = (RelocatablePath("/tmp/f", bases: Fixture.bases), FileStamp(size: 1, modified: 1, inode: 1))
        for (state, isKept) in [
            (RegistryEntry.State.finished(file, stamp), false), (.cancelled, false), (.paused, true),
            (.finishing(file, stamp), true), (.failed(code: "c", message: "m"), true),
        ] {
            let entry = try entry(1, pieces: 2, hasChecksum: hasChecksum)
            let read = try Fixture.read(Fixture.journal([.added([entry]), .state(1, state)])).snapshot[1]
            #expect(read?.state == state)
            #expect((read?.request.expectations.pieces != nil) == (isKept || !hasChecksum))
        }
    }

    @Test func `a command that is too large omits the piece hashes of files with checksums`() throws {
        let command = RegistryCommand.add([try entry(1, pieces: 100), try entry(2, pieces: 100)])
        var bare: [RegistryEntry] = []
        for id: UInt64 in 1...2 {
            var entry = try entry(id, pieces: 100)
            entry.request.expectations.pieces = nil
            bare.append(entry)
        }
        let size = try #require(command.encoded()).count
        #expect(try RegistryCommand(decoding: #require(command.encoded(maxBytes: size))) == command)
        #expect(try RegistryCommand(decoding: #require(command.encoded(maxBytes: size - 1))) == .add(bare))
        #expect(command.encoded(maxBytes: 100) == nil)
        let unverified = RegistryCommand.add([try entry(1, pieces: 100, hasChecksum: false)])
        #expect(unverified.encoded(maxBytes: try #require(unverified.encoded()).count - 1) == nil)
    }

    @Test func `a registry with many piece hashes is written in chunks of bounded size`() throws {
        let entries = try (0..<50).map { try entry(UInt64($0), pieces: 6000) }
        var snapshot = RegistryEncoder.journal(of: entries)
        var (bytes, longest) = ([UInt8](), 0)
        while let piece = try snapshot.next() {
            longest = max(longest, piece.count)
            bytes += piece
        }
        #expect(longest < 10 << 20 && bytes.count > 2 * longest)
        #expect(try Fixture.read(bytes).snapshot == Fixture.image([.added(entries)]))
    }

    @Test(arguments: [
        #"[3,"md5","ABEiM0RVZneImaq7zN3u/w=="]"#, #"[0,"md5","ABEiM0RVZneImaq7zN3u/w=="]"#,
        #"[3,"md5","ABEiM0RVZneImaq7zN3u"]"#, #"[3,"md5","?"]"#, #"[3,"md5",""]"#,
        #"[3,"blake3","ABEiM0RVZneImaq7zN3u/w=="]"#, #"[3,"md5","ABEiM0RVZneImaq7zN3u/w==",4]"#,
        #"[3,"md5","ABEiM0RVZneImaq7zN3u/w==",-1]"#, #"[3,"md5","ABEiM0RVZneImaq7zN3u/w==",2,"more"]"#,
    ])
    func `invalid piece hashes are ignored and reported, and the download is kept`(_ text: String) throws {
        let payload = #"["add",["0000000000000001",5,"http://h/a","file","/f","pieces",\#(text),"title","t"]]"#
        let reader = try Fixture.read(ParserProperty.journal(of: Array(payload.utf8)))
        let entry = try #require(reader.snapshot[1])
        #expect(entry.request.title == "t")
        let isRight = text.hasPrefix(#"[3,"md5","ABEiM0RVZneImaq7zN3u/w=="]"#)
        #expect((entry.request.expectations.pieces != nil) == (isRight || text.contains("more")))
        #expect(reader.findings.hasLoss == !isRight)
    }

    @Test(arguments: [(0, true), (Int64.max, true), (-1, false)])
    func `a negative size is ignored and reported`(_ size: Int64, _ isRight: Bool) throws {
        let payload = #"["add",["0000000000000001",5,"http://h/a","file","/f","size",\#(size)]]"#
        let reader = try Fixture.read(ParserProperty.journal(of: Array(payload.utf8)))
        #expect(reader.snapshot[1]?.request.expectations.size == (isRight ? size : nil))
        #expect(reader.findings.hasLoss == !isRight)
    }
}
