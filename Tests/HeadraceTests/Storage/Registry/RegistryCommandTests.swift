import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct RegistryCommandTests {
    private typealias Fixture = RegistryFixture

    private static let table: [(RegistryCommand, String)] = [
        (
            .add([Fixture.entry(1), Fixture.fullEntry(2)]),
            #"["add",["0000000000000001",0,"https://example.org/file-1","file","home:Downloads/file-1","number",2],"#
                + #"["0000000000000002",-9223372036854775808,"https://example.org/n%C3%A4me.zip?q=1/2","directory","home:Down\"loads","#
                + #""publicAddress",true,"conflict","overwrite","resume","overlap","size",5,"checksums",["md5:00112233445566778899aabbccddeeff"],"#
                + #""refetch","ifChanged","headers",["Accept","a\\b"],"withheld",["Cookie"],"#
                + #""withheldUser",true,"group","group","rateLimit",1099511627776,"#
                + #""title","näme\u000a\u0000"# + "\u{2028}"
                + #"","info",["","","key","value"],"priority",-3,"notBefore",1767225600123,"paused",true,"#
                + #""network","wifiOrWired","pieces",[3,"md5","ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8="],"#
                + #""number",3,"added",1767225600123,"started",1767225600124,"ended",1767225600125,"#
                + #""state",["finished","temporary:a b/näme.zip",9223372036854775807,-9223372036854775808,"#
                + #"18446744073709551615]]]"#
        ),
        (.add([]), #"["add"]"#),
        (.pause([1, .max]), #"["pause","0000000000000001","ffffffffffffffff"]"#),
        (.resume([]), #"["resume"]"#),
        (.cancel([2]), #"["cancel","0000000000000002"]"#),
        (.retry([2]), #"["retry","0000000000000002"]"#),
        (.remove([2], deletingFiles: false), #"["remove","keep","0000000000000002"]"#),
        (.remove([2], deletingFiles: true), #"["remove","delete","0000000000000002"]"#),
        (.move(2, .first), #"["move","0000000000000002","first"]"#),
        (.move(2, .last), #"["move","0000000000000002","last"]"#),
        (.move(2, .before(.init(rawValue: 3))), #"["move","0000000000000002","before","0000000000000003"]"#),
        (.move(2, .after(.init(rawValue: 3))), #"["move","0000000000000002","after","0000000000000003"]"#),
        (.move(2, .index(-1)), #"["move","0000000000000002","index",-1]"#),
        (.priority(2, .min), #"["priority","0000000000000002",-9223372036854775808]"#),
        (.relink(2, "http://h/a?b"), #"["relink","0000000000000002","http://h/a?b"]"#),
    ]

    private func framed(_ payload: String) -> [UInt8] { RegistryJournal.line(of: Array(payload.utf8)) }

    @Test(arguments: table)
    func `a command is written as one line and read back`(_ command: RegistryCommand, _ payload: String) throws {
        let line = "\(CRC32C.checksum(of: payload.utf8).hexadecimal) \(payload)\n"
        #expect(command.encoded().map { String(decoding: $0, as: UTF8.self) } == line)
        #expect(try RegistryCommand(decoding: Array(line.utf8)) == command)
    }

    @Test func `a command that is truncated, extended or has one bit flipped is damaged`() throws {
        for (_, payload) in Self.table.dropFirst() {
            let line = framed(payload)
            for length in line.indices {
                #expect(throws: RegistryCommand.Failure.damaged) {
                    try RegistryCommand(decoding: Array(line[..<length]))
                }
            }
            for bit in 0..<line.count * 8 {
                var flipped = line
                flipped[bit / 8] ^= 1 << (bit % 8)
                #expect(throws: RegistryCommand.Failure.damaged) { try RegistryCommand(decoding: flipped) }
            }
            for rest in ["\n", "x", "\n\n"] {
                #expect(throws: RegistryCommand.Failure.damaged) { try RegistryCommand(decoding: line + rest.utf8) }
            }
        }
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #""pause""#, "[1]", #"["pause",1]"#, #"["pause","1"]"#, #"["remove"]"#,
        #"["remove",true]"#, #"["move"]"#, #"["move","0000000000000002"]"#,
        #"["move","0000000000000002","before"]"#, #"["move","0000000000000002","index","1"]"#,
        #"["priority","0000000000000002"]"#, #"["priority","0000000000000002",9223372036854775808]"#,
        #"["add",[]]"#, #"["add",["0000000000000001",0,"http://h/"]]"#,
        #"["add",["0000000000000001",0,"http://h/","link","/f"]]"#,
        #"["add",["0000000000000001",0,"http://h/","file","home:../f"]]"#, #"["pause"] "#,
        #"["pause"]["pause"]"#, #"["add",["0000000000000001",0,"http://h/","file","/f"],1]"#,
    ])
    func `an invalid command is damaged as a whole`(_ payload: String) {
        #expect(throws: RegistryCommand.Failure.damaged) { try RegistryCommand(decoding: framed(payload)) }
    }

    @Test(arguments: [
        (#"["paint",1,{"a":[2]}]"#, #"the command "paint""#),
        (#"["remove","0000000000000002"]"#, #"the file option "0000000000000002""#),
        (#"["remove","bury","0000000000000002"]"#, #"the file option "bury""#),
        (#"["move","0000000000000002","behind","0000000000000003"]"#, #"the position "behind""#),
        (#"["move","0000000000000002","first",1]"#, #"more values of a command "move""#),
        (#"["add",["0000000000000001",0,"http://h/","file","/f","colour",1]]"#, #"the field "colour" of a download"#),
        (#"["add",["0000000000000001",0,"http://h/","file","/f","state",["verifying"]]]"#, #"the state "verifying""#),
        (#"["add",["0000000000000001",0,"http://h/","file","/f","conflict","ask"]]"#, #"the conflict policy "ask""#),
    ])
    func `K22 a command with additions of a later release is not executed in part`(_ payload: String, _ what: String) {
        #expect(throws: RegistryCommand.Failure.unknown(what)) { try RegistryCommand(decoding: framed(payload)) }
    }

    @Test func `random commands are read back`() throws {
        for seed: UInt64 in 0..<300 {
            var random = SeededRandom(seed: seed)
            let command = Fixture.randomCommand(&random)
            let bytes = try #require(command.encoded())
            #expect(try RegistryCommand(decoding: bytes) == command, "seed \(seed)")
            #expect(ParserProperty.command.violation(of: bytes) == nil, "seed \(seed)")
        }
    }

    @Test func `random bytes never crash`() {
        for seed: UInt64 in 0..<300 {
            var random = SeededRandom(seed: seed)
            let alphabet = Array(#"[]{}",:\u0a1-add pausemove"#.utf8) + [0, 10, 0xc3, 0xff]
            let count = Int.random(in: 0...60, using: &random)
            let bytes = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            #expect(ParserProperty.command.violation(of: bytes) == nil, "seed \(seed)")
        }
    }

    @Test func `a command that is too large is not written`() throws {
        let command = RegistryCommand.add([Fixture.entry(1)])
        let bytes = try #require(command.encoded())
        #expect(command.encoded(maxBytes: bytes.count) == bytes)
        #expect(command.encoded(maxBytes: bytes.count - 1) == nil)
    }
}
