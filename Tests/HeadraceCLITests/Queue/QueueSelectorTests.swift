import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct QueueSelectorTests {
    /// The numbers differ from the positions, as after moves and removals.
    private static let list = [
        DownloadSnapshot.sample(0x1111_0000_0000_0001, .running) { $0.group = "a" },
        .sample(0x1111_2222_0000_0002, .paused) { $0.group = "a" },
        .sample(0xABCD_0000_0000_0003, .failed(DownloadError(.tls, "No."))) { $0.group = "b" },
        .sample(0x1234_0000_0000_0004),
    ].numbered(7, 1, 3, 4)

    private func positions(_ line: [String], in list: [DownloadSnapshot] = list) throws -> [Int] {
        let arguments = try ParsedArguments(line)
        let ids = try QueueSelector(arguments.operands, arguments).resolve(in: list)
        return list.indices.filter { ids.contains(list[$0].id) }.map { $0 + 1 }
    }

    @Test(arguments: [
        (["all"], [1, 2, 3, 4]), (["%1"], [2]), (["%4", "%7", "%4"], [1, 4]), (["%03"], [3]),
        (["abcd"], [3]), (["ABCD0"], [3]),
        (["1234"], [4]), (["11110"], [1]), (["1111222200000002"], [2]), (["%7", "1234"], [1, 4]),
        (["%1", "all"], [1, 2, 3, 4]),
        (["--group", "a"], [1, 2]), (["--state=failed"], [3]), (["--state", "finished"], []),
        (["--group=a", "--state=paused"], [2]), (["--group=a", "all"], [1, 2]),
    ])
    func `downloads are selected by id, number, group, state or all`(
        _ line: [String],
        positions: [Int]
    ) throws {
        #expect(try self.positions(line) == positions)
    }

    @Test
    func `all of an empty queue is none`() throws {
        #expect(try positions(["all"], in: []) == [])
        #expect(try positions(["--state=failed"], in: []) == [])
    }

    @Test(arguments: [
        ([], "no download given; use ids, numbers such as %1, all, --group or --state"),
        (
            ["--group=a", "%1"],
            "--group and --state select from the whole queue and cannot be combined with ids or numbers"
        ),
        (["%2"], "%2: no download in the queue has this number; see headrace queue list"),
        (["%0"], "\"%0\" is not a download number such as %1"),
        (["%"], "\"%\" is not a download number such as %1"),
        (["%+1"], "\"%+1\" is not a download number such as %1"),
        (["%99999999999999999999"], "\"%99999999999999999999\" is not a download number such as %1"),
        (
            ["123"],
            "\"123\" is too short for an id, which needs at least 4 digits; a download number is written with a "
                + "percent sign, such as %1"
        ),
        (
            ["http://u:p@h/"],
            "\"http://***@h/\" is not an id, a number such as %1, or all; see headrace queue list"
        ),
        (["٣٣٣٣"], "\"٣٣٣٣\" is not an id, a number such as %1, or all; see headrace queue list"),
        (["ffff"], "ffff: no download in the queue has this id; see headrace queue list"),
        (
            ["11110000000000011"],
            "\"11110000000000011\" is not an id, a number such as %1, or all; see headrace queue list"
        ),
        (["1111"], "1111: 2 ids start with this: 1111000000000001, 1111222200000002; use more digits"),
        (["abcd", "1111"], "1111: 2 ids start with this: 1111000000000001, 1111222200000002; use more digits"),
        (["--group", "c"], "--group: no download in the queue has the group \"c\""),
        (
            ["--state", "done"],
            "--state: \"done\" is not one of waiting, running, paused, finished, failed, cancelled"
        ),
    ])
    func `an unknown or ambiguous selection is rejected`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try positions(line) }
    }

    @Test
    func `a number in an empty queue is reported as such`() {
        #expect(throws: UsageError("%1: the queue is empty")) { try positions(["%1"], in: []) }
    }

    @Test(arguments: [
        (["first"], QueuePosition.first), (["last"], .last), (["3"], .index(2)), (["%1"], .index(1)),
        (["%7"], .index(0)),
        (["before", "%1"], .before(list[1].id)), (["after", "abcd"], .after(list[2].id)),
    ])
    func `a move takes a position or another download`(
        _ words: [String],
        position: QueuePosition
    ) throws {
        #expect(try QueuePosition(words, in: Self.list) == position)
    }

    @Test(arguments: [
        [], ["0"], ["-1"], ["middle"], ["before"], ["first", "%1"], ["3", "4"], ["before", "%1", "%2"],
    ])
    func `an invalid position is rejected`(_ words: [String]) {
        let message = "the new position must be first, last, before ID, after ID, a number such as 1, or %1"
        #expect(throws: UsageError(message)) { try QueuePosition(words, in: Self.list) }
    }

    @Test
    func `a position relative to all or to an unknown download is rejected`() {
        #expect(throws: UsageError.self) { try QueuePosition(["before", "all"], in: Self.list) }
        #expect(throws: UsageError.self) { try QueuePosition(["after", "ffff"], in: Self.list) }
        #expect(throws: UsageError.self) { try QueuePosition(["5"], in: Self.list) }
        #expect(throws: UsageError.self) { try QueuePosition(["%5"], in: Self.list) }
    }
}
