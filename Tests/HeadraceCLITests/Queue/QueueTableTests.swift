import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct QueueTableTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    /// The numbers differ from the positions, as after moves.
    private static let list = [
        DownloadSnapshot.sample(0x1111_1111_0000_0001, .running, .half),
        .sample(
            0xABCD_0000_0000_0002,
            .failed(DownloadError(.httpStatus, "The server responded with status 404.")),
            name: "b.bin"
        ),
        .sample(0x0000_0000_0000_0003, .paused, name: "c.bin", DownloadProgress(bytesReceived: 2048)) {
            $0.title = "The third"
        },
    ].numbered(2, 10, 1)

    private func lines(_ list: [DownloadSnapshot], _ shown: [DownloadSnapshot]? = nil, width: Int? = nil) -> [String] {
        QueueTable(list, shown: Set((shown ?? list).map(\.id)), now: now).lines(width: width)
    }

    @Test
    func `a line shows the state of a download`() {
        #expect(
            lines(Self.list) == [
                "     ID        STATE    DONE      SIZE  NAME",
                " %2  11111111  running   50%   100 MiB  a.bin",
                "%10  abcd0000  failed                   b.bin: The server responded with status 404.",
                " %1  00000000  paused         2.00 KiB  The third",
            ]
        )
    }

    @Test
    func `a line is shortened in its last column to fit the terminal`() {
        #expect(
            lines(Self.list, width: 60) == [
                "     ID        STATE    DONE      SIZE  NAME",
                " %2  11111111  running   50%   100 MiB  a.bin",
                "%10  abcd0000  failed                   b.bin: The…atus 404.",
                " %1  00000000  paused         2.00 KiB  The third",
            ]
        )
        #expect(lines(Self.list, width: 10).allSatisfy { $0.hasSuffix("…") })
    }

    @Test
    func `a filtered table keeps the numbers`() {
        #expect(
            lines(Self.list, [Self.list[2]]) == [
                "    ID        STATE       SIZE  NAME",
                "%1  00000000  paused  2.00 KiB  The third",
            ]
        )
    }

    @Test
    func `priorities are shown if they are not all normal`() {
        let list: [DownloadSnapshot] = [
            .sample(1, priority: .high), .sample(2), .sample(3, priority: .low),
            .sample(4, priority: DownloadPriority(rawValue: -7)),
        ]
        #expect(
            lines(list.numbered()) == [
                "    ID                STATE    PRIORITY  NAME",
                "%1  0000000000000001  waiting      high  a.bin",
                "%2  0000000000000002  waiting    normal  a.bin",
                "%3  0000000000000003  waiting       low  a.bin",
                "%4  0000000000000004  waiting        -7  a.bin",
            ]
        )
    }

    @Test
    func `a future begin time is shown, and a finished file has its actual name`() {
        let begin: (TimeInterval) -> (inout DownloadRequest) -> Void = { seconds in
            { [now] in $0.earliestBegin = now + seconds }
        }
        let list: [DownloadSnapshot] = [
            .sample(1 << 60, change: begin(60)), .sample(2 << 60, change: begin(-60)),
            .sample(3 << 60, .finished(URL(filePath: "/d/a (1).bin"))),
        ]
        #expect(
            lines(list.numbered()) == [
                "    ID        STATE     NAME",
                "%1  10000000  waiting   a.bin: starts at \(BeginTime.text(now + 60))",
                "%2  20000000  waiting   a.bin",
                "%3  30000000  finished  a (1).bin",
            ]
        )
    }

    @Test
    func `a download that waits for a network says so`() {
        var snapshot = DownloadSnapshot.sample(1)
        snapshot.networkBlocker = .expensive
        #expect(lines([snapshot]).last?.hasSuffix("  a.bin: waiting for a network that is not metered") == true)
        #expect(snapshot.json.hasSuffix(#","networkObstacle":"expensive"}"#))
    }

    @Test
    func `control characters in titles are replaced`() {
        let list: [DownloadSnapshot] = [.sample(1) { $0.title = "a\u{1B}[2J\nb" }]
        #expect(lines(list).last?.hasSuffix("  a\u{FFFD}[2J\u{FFFD}b") == true)
    }

    @Test(arguments: [
        ([], 8), (["0123456789abcdef"], 8), (["0123456789abcdef", "0123456799abcdef"], 9),
        (["0123456789abcdef", "ffff", "0123456789abcdee"], 16),
    ])
    func `a short id is long enough to be unique`(_ ids: [String], digits: Int) {
        #expect(QueueTable.digits(of: ids) == digits)
    }

    @Test
    func `JSON has an object for each download, without its password`() throws {
        var snapshot = DownloadSnapshot.sample(0xFF, .failed(DownloadError(.tls, "No.")), priority: .high, .half) {
            $0.group = "g"
            $0.earliestBegin = now
        }
        #expect(snapshot.json.hasPrefix(#"{"place":null,"number":null,"id":"#))
        (snapshot.position, snapshot.number) = (2, 5)
        #expect(
            snapshot.json
                == #"{"place":3,"number":5,"id":"00000000000000ff","state":"failed","url":"http://h/x","name":"a.bin","title":null,"#
                + #""group":"g","priority":10,"begin":"1970-01-12T13:46:40Z","bytesReceived":52428800,"totalBytes":104857600,"#
                + #""destination":"/d/a.bin","code":"tls","message":"No.","exitStatus":3}"#
        )
        let finished = DownloadSnapshot.sample(1, .finished(URL(filePath: "/d/b"))) {
            $0.destination = .directory(URL(filePath: "/d/"))
        }
        #expect(finished.json.hasSuffix(#","directory":"/d/","file":"/d/b"}"#))
        #expect(finished.json.contains(#","name":"b","#))
    }
}
