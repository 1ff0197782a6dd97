import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct RegistryJournalTests {
    private typealias Fixture = RegistryFixture

    /// Reads a journal of these payloads.
    private func read(_ payloads: String...) throws -> RegistryReader {
        let text = payloads.joined(separator: "\n")
        return try Fixture.read(ParserProperty.journal(of: Array(text.utf8)))
    }

    private let entry = #"["add",["0000000000000001",5,"http://h/a","file","/f"]]"#

    // MARK: Writing

    /// Later versions must read this format; changing this text requires a new version number.
    @Test func `a journal is a version and then a line for each change`() throws {
        let changes: [RegistryChange] = [
            .added([Fixture.fullEntry(.max), Fixture.entry(2, .failed(code: "tls", message: "No."), label: 5)]),
            .state(2, .running), .state(2, .running, at: 1_767_225_600_123),
            .state(2, .finishing(RelocatablePath("/tmp/f", bases: Fixture.bases), Fixture.stamp)),
            .state(2, .finished(RelocatablePath("/tmp/f", bases: Fixture.bases), Fixture.stamp), at: 1_767_225_600_124),
            .state(2, .skipped(RelocatablePath("/tmp/f", bases: Fixture.bases), Fixture.stamp)),
            .state(2, .failed(code: "httpStatus", message: "No.", status: 404)),
            .moved(2, label: -1), .relabelled([2: 3]), .priority(2, 4), .removed([2, .max]),
        ]
        let payloads = [
            #"["add",["ffffffffffffffff",-9223372036854775808,"https://example.org/n%C3%A4me.zip?q=1/2","directory","#
                + #""home:Down\"loads","publicAddress",true,"conflict","overwrite","resume","overlap","size",5,"#
                + #""checksums",["md5:00112233445566778899aabbccddeeff"],"refetch","ifChanged","headers",["Accept","a\\b"],"#
                + #""withheld",["Cookie"],"withheldUser",true,"group","group","rateLimit",1099511627776,"#
                + #""title","näme\u000a\u0000"# + "\u{2028}"
                + #"","info",["","","key","value"],"priority",-3,"notBefore",1767225600123,"paused",true,"#
                + #""network","wifiOrWired","pieces",[3,"md5","ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=",5],"#
                + #""number",72088,"added",1767225600123,"started",1767225600124,"ended",1767225600125,"state",["finished","temporary:a b/näme.zip",9223372036854775807,-9223372036854775808,18446744073709551615]]]"#,
            #"["add",["0000000000000002",5,"https://example.org/file-2","file","home:Downloads/file-2","#
                + #""number",3,"state",["failed","tls","No."]]]"#,
            #"["state","0000000000000002",["running"]]"#,
            #"["state","0000000000000002",["running"],1767225600123]"#,
            #"["state","0000000000000002",["finishing","temporary:f",5,1767225600123456789,7]]"#,
            #"["state","0000000000000002",["finished","temporary:f",5,1767225600123456789,7],1767225600124]"#,
            #"["state","0000000000000002",["skipped","temporary:f",5,1767225600123456789,7]]"#,
            #"["state","0000000000000002",["failed","httpStatus","No.",404]]"#,
            #"["move","0000000000000002",-1]"#,
            #"["relabel",{"0000000000000002":3}]"#,
            #"["priority","0000000000000002",4]"#,
            #"["remove","0000000000000002","ffffffffffffffff"]"#,
        ]
        let lines = payloads.map { "\n\(CRC32C.checksum(of: $0.utf8).hexadecimal) \($0)\n" }
        let journal = "headrace-registry 1 e9d3e7cb\n" + lines.joined()
        #expect(String(decoding: try Fixture.journal(changes), as: UTF8.self) == journal)
        #expect(CRC32C.checksum(of: "headrace-registry 1".utf8).hexadecimal == "e9d3e7cb")
        for count in 0...changes.count {
            let reader = try Fixture.read(Fixture.journal(changes.prefix(count)))
            #expect(reader.snapshot == Fixture.image(changes.prefix(count)))
            #expect(reader.findings == RegistryDiagnostics())
        }
    }

    @Test func `the time of a start stays until the next one, and the time of an end until the state changes`() {
        var image = Fixture.image([.added([Fixture.entry(1)])])
        func times(after state: RegistryEntry.State, at time: Int64?) -> [Int64?] {
            image.apply(.state(1, state, at: time))
            return [image[1]?.started, image[1]?.ended]
        }
        #expect(times(after: .running, at: 1) == [1, nil])
        #expect(times(after: .failed(code: "tls", message: "No."), at: 2) == [1, 2])
        #expect(times(after: .requeued, at: nil) == [1, nil])
        // A retry.
        #expect(times(after: .running, at: nil) == [1, nil])
        #expect(times(after: .cancelled, at: 3) == [1, 3])
        #expect(times(after: .running, at: 4) == [4, nil])
        // As an earlier release records it.
        #expect(times(after: .cancelled, at: nil) == [4, nil])
    }

    @Test func `downloads are ordered by label and then by number`() {
        let labels: [UInt64: Int64] = [1: 7, 2: .min, 3: 7, 4: .max, 5: 0]
        let image = Fixture.image([.added(labels.map { Fixture.entry($0, label: $1) })])
        #expect(image.ordered.map(\.id) == [2, 5, 1, 3, 4])
    }

    @Test func `a change of an unknown download does nothing and reports its ID`() {
        var image = Fixture.image([.added([Fixture.entry(1)])])
        let before = image
        #expect(image.apply(.state(2, .running)) == [2])
        #expect(image.apply(.moved(2, label: 1)) == [2])
        #expect(image.apply(.priority(2, 1)) == [2])
        #expect(image.apply(.removed([2])) == [])
        #expect(image == before)
        #expect(image.apply(.relabelled([1: 4, 2: 5])) == [2])
        #expect(image[1]?.label == 4)
    }

    /// A rewritten journal may be ahead of the changes recorded next.
    @Test func `replaying changes from any point ends with the same entries`() {
        for seed: UInt64 in 0..<50 {
            var random = SeededRandom(seed: seed)
            let changes = (0..<20).map { _ in Fixture.randomChange(&random, addingUpTo: 5) }
            let image = Fixture.image(changes)
            for start in changes.indices {
                var again = image
                for change in changes[start...] { again.apply(change) }
                #expect(again == image, "seed \(seed), from \(start) on")
            }
        }
    }

    @Test func `many downloads take several lines, none longer than the limit`() throws {
        var entries = (0..<9).map { Fixture.entry(UInt64($0)) }
        for index in entries.indices { entries[index].request.title = String(repeating: "t", count: 200_000) }
        let changes: [RegistryChange] = [.added(entries), .removed((0..<10_000).map { $0 + 1000 })]
        let journal = try Fixture.journal(changes)
        let lines = journal.split(separator: RegistryJournal.newline)
        #expect(lines.count == 1 + 9 + 3)
        #expect(lines.allSatisfy { $0.count <= RegistryJournal.maxLineBytes })
        let reader = try Fixture.read(journal)
        #expect(reader.snapshot == Fixture.image(changes))
        #expect(reader.recordCount == 10_009)
    }

    @Test func `entries and states larger than the limit are rejected`() throws {
        var entry = Fixture.entry(7)
        entry.request.userInfo = ["k": String(repeating: "v", count: RegistryJournal.maxEntryBytes)]
        let message = String(repeating: "m", count: RegistryJournal.maxStateBytes)
        for change in [
            RegistryChange.added([Fixture.entry(6), entry]), .state(7, .failed(code: "c", message: message)),
        ] {
            #expect(throws: RegistryEncoder.Failure.tooLarge(7)) { try RegistryEncoder.lines(of: [change]) }
        }
        let labels = RegistryChange.relabelled(
            Dictionary(uniqueKeysWithValues: (0..<30_000).map { (UInt64($0), Int64.max) })
        )
        #expect(throws: RegistryEncoder.Failure.indivisible) { try RegistryEncoder.lines(of: [labels]) }
    }

    @Test func `a download of the maximum size has room for the longest state`() throws {
        var entry = Fixture.entry(7)
        entry.request.title = ""
        let frame = RegistryJournal.maxLineBytes - RegistryJournal.maxPayloadBytes + 2
        let bytes = try RegistryEncoder.lines(of: [.added([entry])]).count - frame
        let longest = RegistryJournal.maxEntryBytes - bytes
        entry.request.title = String(repeating: "t", count: longest + 1)
        #expect(throws: RegistryEncoder.Failure.tooLarge(7)) { try RegistryEncoder.lines(of: [.added([entry])]) }
        entry.request.title = String(repeating: "t", count: longest)
        let message = String(repeating: "m", count: RegistryJournal.maxStateBytes - 100)
        let changes: [RegistryChange] = [.added([entry]), .state(7, .failed(code: "c", message: message))]
        _ = try RegistryEncoder.lines(of: changes)
        var snapshot = RegistryEncoder.journal(of: Fixture.image(changes).ordered)
        let written = try #require(try snapshot.next())
        #expect(try snapshot.next() == nil)
        #expect(try Fixture.read(written).snapshot == Fixture.image(changes))
    }

    @Test(arguments: [0, 1, 64, 65, 200])
    func `a snapshot is read back as the same entries`(_ count: Int) throws {
        let entries = (0..<count).map { Fixture.entry(UInt64($0) << 50, .paused, label: Int64(count - $0)) }
        let image = Fixture.image([.added(entries)])
        var snapshot = RegistryEncoder.journal(of: image.ordered, pieceBytes: 4000)
        var bytes: [UInt8] = []
        while let piece = try snapshot.next() { bytes += piece }
        let reader = try Fixture.read(bytes)
        #expect(reader.snapshot == image)
        #expect(reader.findings == RegistryDiagnostics())
        #expect(reader.recordCount == count)
    }

    // MARK: Reading

    @Test func `K22 additions of a later release are ignored and reported once each`() throws {
        let reader = try read(
            #"["add",["0000000000000001",5,"http://h/a","file","/f","colour",{"a":[1]},"title","t"]]"#,
            #"["add",["0000000000000002",5,"http://h/a","file","/f","colour",1],2]"#,
            #"["paint","0000000000000001"]"#,
            #"["paint"]"#,
            #"["move","0000000000000001",9,"there"]"#,
            #"["state","0000000000000001",["verifying",1]]"#,
            #"["state","0000000000000001",["paused",1]]"#,
            #"["add",["0000000000000003",5,"http://h/a","file","/f","conflict","ask","resume","hope","refetch","?","#
                + #""network","none","state",["x"]]]"#
        )
        var expected = Fixture.image([])
        let place = RelocatablePath("/f", bases: Fixture.bases)
        for id: UInt64 in 1...3 {
            let request = RegistryRequest(url: "http://h/a", destination: .file(place))
            expected.apply(.added([RegistryEntry(id: id, request, label: 5)]))
        }
        expected.apply(.moved(1, label: 9))
        expected.apply(.state(1, .paused))
        var first = try #require(expected[1])
        first.request.title = "t"
        var third = try #require(expected[3])
        third.request.conflictPolicy = .fail
        third.request.networkPolicy = .wifiOrWired
        expected.apply(.added([first, third]))
        #expect(reader.snapshot == expected)
        #expect(
            reader.findings.list == [
                .unknown(#"the field "colour" of a download"#, line: 3),
                .unknown(#"more values of a change "add""#, line: 5), .unknown(#"the change "paint""#, line: 7),
                .unknown(#"more values of a change "move""#, line: 11), .unknown(#"the state "verifying""#, line: 13),
                .unknown(#"more values of the state "paused""#, line: 15),
                .unknown(#"the conflict policy "ask""#, line: 17), .unknown(#"the resume policy "hope""#, line: 17),
                .unknown(#"the refetch policy "?""#, line: 17), .unknown(#"the network policy "none""#, line: 17),
                .unknown(#"the state "x""#, line: 17),
            ]
        )
    }

    @Test(arguments: [
        "{}", "[]", "null", "1", #""add""#, "[1]", "[null]", #"["state"]"#, #"["state","0000000000000001"]"#,
        #"["state",1,["paused"]]"#, #"["state","1",["paused"]]"#, #"["state","0000000000000001",[]]"#,
        #"["state","0000000000000001",["finished"]]"#, #"["state","0000000000000001",["finished","../f",1,2,3]]"#,
        #"["state","0000000000000001",["finished","/f",1,2]]"#,
        #"["state","0000000000000001",["finishing","/f",1,2,-3]]"#,
        #"["move","0000000000000001","1"]"#, #"["move","0000000000000001",9223372036854775808]"#,
        #"["move","0000000000000001",1e400]"#, #"["relabel",{"1":1}]"#, #"["priority","000000000000000A",1]"#,
        #"["remove",""]"#, #"["add""#, "[[[[", "\u{FEFF}[]", "\u{0}",
        #"["add",["0000000000000001"],"#, #"["relabel",{"a":1}]]"#,
    ])
    func `an invalid payload loses only its own line`(_ payload: String) throws {
        let reader = try read(entry, payload, #"["move","0000000000000001",6]"#)
        #expect(reader.snapshot.ordered.map(\.label) == [6])
        #expect(reader.findings.list == [.unreadableLine(5)])
    }

    @Test(arguments: [
        "1", "null", "{}", "[]", #"["0000000000000002"]"#, #"["2",5,"http://h/a","file","/f"]"#,
        #"["0000000000000002",5,"http://h/a","link","/f"]"#, #"["0000000000000002",5,"http://h/a","file","f"]"#,
        #"["0000000000000002",5,"http://h/a","file","home:../f"]"#,
        #"["0000000000000002",5,"http://h/a","file","/f",1]"#,
        #"["0000000000000002",5,"http://h/a","file","/f","title"]"#,
        #"["0000000000000002",5,"http://h/a","file","/f","headers",["a"]]"#,
        #"["0000000000000002",5,"http://h/a","file","/f","priority","1"]"#,
    ])
    func `an invalid download loses only itself`(_ text: String) throws {
        let reader = try read(entry, #"["add",\#(text)]"#, #"["move","0000000000000001",6]"#)
        #expect(reader.snapshot.ordered.map(\.label) == [6])
        #expect(reader.findings.list == [.unreadableLine(5)])
    }

    @Test func `K18 a damaged line in the middle loses only its own change and is reported`() throws {
        let changes: [RegistryChange] = [
            .added([Fixture.entry(1)]), .added([Fixture.entry(2)]), .added([Fixture.entry(3)]), .state(1, .paused),
            .state(2, .paused), .priority(2, 1), .moved(3, label: 8), .state(3, .running), .removed([3]),
        ]
        var journal = try Fixture.journal(changes)
        for text in ["file-2\"", "file-3\""] {
            let place = try #require(journal.firstRange(of: Array(text.utf8)))
            journal[place.lowerBound] ^= 1
        }
        let reader = try Fixture.read(journal)
        #expect(reader.snapshot == Fixture.image([.added([Fixture.entry(1, .paused)])]))
        let lengths = try [2, 3].map { try RegistryEncoder.lines(of: [.added([Fixture.entry($0)])]).count - 2 }
        #expect(
            reader.findings.list == [
                .damagedLine(5, bytes: lengths[0]), .damagedLine(7, bytes: lengths[1]), .missing([2]),
            ]
        )
        #expect(reader.findings.hasLoss)
    }

    @Test func `a change of a removed download is not reported`() throws {
        let reader = try Fixture.read(
            Fixture.journal([.added([Fixture.entry(1)]), .removed([1]), .state(1, .running), .state(2, .running)])
        )
        #expect(reader.findings == RegistryDiagnostics())
    }

    @Test func `a line that is too long loses only itself`() throws {
        var journal = try Fixture.journal([.added([Fixture.entry(1)])])
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: RegistryJournal.maxLineBytes)
        RegistryJournal.append(Array(#"["move","0000000000000001",6]"#.utf8) + blanks, to: &journal)
        journal += try RegistryEncoder.lines(of: [.state(1, .paused)])
        for pieceBytes in [1 << 16, 1 << 20, 1 << 24] {
            let reader = try Fixture.read(journal, pieceBytes: pieceBytes)
            #expect(reader.snapshot == Fixture.image([.added([Fixture.entry(1, .paused)])]))
            #expect(reader.findings.list == [.damagedLine(5, bytes: RegistryJournal.maxLineBytes + 38)])
        }
    }

    @Test func `of very many diagnostics the first are listed and the others counted`() throws {
        let reader = try Fixture.read(RegistryJournal.header + Array(String(repeating: "x\n", count: 5000).utf8))
        #expect(reader.findings.list.count == RegistryDiagnostics.maxCount)
        #expect(reader.findings.omittedCount == 5000 - RegistryDiagnostics.maxCount)
    }

    // MARK: Versions

    @Test(arguments: [2, 10, Int.max])
    func `K20 a later version is rejected, whatever else the journal contains`(_ version: Int) throws {
        for rest in [[], Array("anything\n\n".utf8), [0, 255, 10], try Fixture.journal([.removed([1])])] {
            #expect(throws: RegistryReader.TooNew(version: version)) {
                try Fixture.read(RegistryJournal.header(of: version) + rest)
            }
        }
        // Also without its line end.
        #expect(throws: RegistryReader.TooNew(version: version)) {
            try Fixture.read(Array(RegistryJournal.header(of: version).dropLast()))
        }
    }

    @Test func `K19 a first line with one bit flipped is damaged and never another version`() throws {
        let changes: [RegistryChange] = [.added([Fixture.entry(1)]), .state(1, .paused)]
        let journal = try Fixture.journal(changes)
        for bit in 0..<RegistryJournal.header.count * 8 {
            var flipped = journal
            flipped[bit / 8] ^= 1 << (bit % 8)
            let reader = try Fixture.read(flipped)
            #expect(reader.snapshot == Fixture.image(changes), "bit \(bit)")
            #expect(reader.findings.hasLoss, "bit \(bit)")
        }
    }

    @Test(arguments: ["x", "x\n", "headrace-registry 1", "headrace-record 1 00000000 0\n\n", "\n", "{}\n", "\u{0}"])
    func `another kind of file has no valid line, and that is reported`(_ text: String) throws {
        let reader = try Fixture.read(Array(text.utf8))
        #expect(reader.snapshot == RegistrySnapshot())
        #expect(reader.findings.hasLoss)
    }

    @Test func `diagnostics are sentences`() {
        let findings: [RegistryDiagnostic] = [
            .damagedLine(1, bytes: 5), .damagedLine(2, bytes: 5), .unreadableLine(3),
            .unknown("the change \"\u{1B}\"", line: 5), .missing([1]), .torn(bytes: 6),
        ]
        for finding in findings {
            #expect(finding.description.hasSuffix(".") && !finding.description.contains("\u{1B}"))
        }
    }

    @Test func `the state of a background session is stored, and unknown parts are ignored`() throws {
        var (started, stopped) = (Fixture.entry(1), Fixture.entry(2, .paused))
        started.background = .started
        stopped.background = .resumable(ResumeData(bytes: Array("plist".utf8), time: 1_767_225_600_123))
        let journal = try Fixture.journal([.added([started, stopped])])
        #expect(String(decoding: journal, as: UTF8.self).contains(#""background",["resume",1767225600123,"cGxpc3Q="]"#))
        let reader = try Fixture.read(journal)
        #expect(reader.snapshot[1] == started)
        #expect(reader.snapshot[2] == stopped)
        for note in [#"["later",1]"#, #"["resume",1,"no base64"]"#] {
            var bytes = RegistryJournal.header
            let entry = #"["0000000000000001",0,"https://example.org/a","file","/a","background",\#(note)]"#
            RegistryJournal.append(Array(#"["add",\#(entry)]"#.utf8), to: &bytes)
            let reader = try Fixture.read(bytes)
            #expect(reader.snapshot[1] != nil)
            #expect(reader.snapshot[1]?.background == nil)
            #expect(!reader.findings.list.isEmpty)
        }
    }
}
