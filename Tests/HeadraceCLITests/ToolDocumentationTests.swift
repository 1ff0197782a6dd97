import Foundation
import Headrace
import Testing

@testable import HeadraceCLI

/// Compares the documentation pages about the tool with its actual events, members and options.
@Suite(.timeLimit(.minutes(4)))
struct ToolDocumentationTests {
    private static let url = makeURL("http://h/x")
    private static let file = URL(filePath: "/d/a")
    private static let error = DownloadError(.httpStatus, "No.", statusCode: 404)

    private static let events: [DownloadEvent] = [
        .started, .redirected(status: 302, from: url, to: url), .responded(status: 200, totalBytes: 5, file: file),
        .resumed(from: 5, bytesKept: 5, proof: .entityTag), .restarted(reason: .taskLost, bytesWasted: 5),
        .retrying(error, attempt: 1, after: .seconds(1)), .connectionOpened(range: 0..<5, from: url, connections: 2),
        .connectionClosed(reason: .slow, bytesWasted: 5), .fellBackToOneConnection(reason: .slow, bytesWasted: 5),
        .limited(by: .disk), .requestEnded(RequestMetrics(url: "http://h/x")), .sourceFailed(error, next: url),
        .verifying, .verified(checksum),
        .piecesVerified(count: 5),
        .repairing(pieces: 1, bytesWasted: 5), .notice(.linkRenewed), .skipped(file), .unchanged(file),
        .finished(summary),
        .failed(error), .paused, .cancelled, .removed, .waitingForNetwork(.offline), .networkChanged,
    ]

    private static let summary = DownloadSummary(
        file: file,
        fileSize: 5,
        bytesFetched: 5,
        duration: .seconds(1),
        isLengthVerified: true
    )

    private static var checksum: Checksum {
        guard let checksum = Checksum(.md5, bytes: [UInt8](repeating: 0, count: 16)) else {
            preconditionFailure("Sixteen bytes are an MD5")
        }
        return checksum
    }

    @Test func `the page lists the members of each event in order`() throws {
        let rows = try Self.rows()
        var progress = DownloadProgress.half
        progress.bytesVerified = 5
        let lines =
            Self.events.map { JSONLines.line(for: $0, of: .connecting()) }
            + [JSONLines.progressLine(of: .running(progress))]
        for line in lines {
            let names = Self.members(of: line)
            #expect(names.prefix(3) == ["event", "id", "url"])
            let event = try #require(line.firstMatch(of: /"event":"(\w+)"/)).1
            #expect(rows[String(event)] == Array(names.dropFirst(3)), "\(event)")
        }
        #expect(lines.count == rows.count)
    }

    @Test func `the page lists each event in the source`() throws {
        let source = try Self.text("Sources/HeadraceCLI/Output/JSONLines.swift")
        let written = source.matches(of: /(?:line|\s)\(\s*"(\w+)",/).map { String($0.1) }
        #expect(written.count > 20)
        #expect(Set(written) == Set(try Self.rows().keys))
    }

    @Test func `the page quotes the first line`() throws {
        #expect(try Self.text("Sources/Headrace/Documentation.docc/JSONLines.md").contains("`\(JSONLines.head)`"))
    }

    @Test(arguments: Option.allCases)
    func `each option has its test in the documentation`(_ option: Option) throws {
        let page = try Self.text("Sources/Headrace/Documentation.docc/Coverage.md")
        #expect(page.contains("`--\(option.rawValue)`"))
    }

    // MARK: Queues

    @Test func `the page and the help list the members of a queued download`() throws {
        var blocked = DownloadSnapshot.sample(1)
        blocked.networkBlocker = .offline
        let downloads = [
            blocked, .sample(2) { $0.destination = .directory(URL(filePath: "/d/")) },
            .sample(3, .finished(Self.file)), .sample(4, .failed(Self.error)),
        ]
        let rows = try Self.table("The list")
        for download in downloads {
            var conditions = ["", "`\(download.state.kind.rawValue)`"]
            if case .file = download.request.destination {
                conditions.append("to a file")
            } else {
                conditions.append("to a directory")
            }
            let wanted = rows.filter { row in
                conditions.contains(row[1]) && (row[0] != "`networkObstacle`" || download.networkBlocker != nil)
            }
            #expect(Self.members(of: download.json) == wanted.flatMap { Self.words($0[0]) })
        }
        for name in ["queue list", "queue add"] { try expectHelp(of: name, toHave: rows) }
    }

    @Test func `the page and the help list the members of the queue status`() throws {
        let rows = try Self.table("The process")
        let status = QueueStatus(processID: 7, counts: [:], log: nil)
        #expect(Self.members(of: status.json) == rows.flatMap { Self.words($0[0]) })
        try expectHelp(of: "queue status", toHave: rows)
    }

    @Test func `the tool writes the members that the page lists`() async throws {
        let always = try Self.table("The list").filter { $0[1].isEmpty || $0[1] == "to a directory" }
        try await withQueueFolder { folder in
            let added = try await folder.queue("add", "--json", "http://127.0.0.1:1/a")
            let listed = try await folder.queue("list", "--json")
            for result in [added, listed] {
                #expect(result.status == 0 && result.outputLines.count == 1)
                #expect(Self.members(of: result.output) == always.flatMap { Self.words($0[0]) })
            }
            let status = try await folder.queue("status", "--json").output
            #expect(Self.members(of: status) == (try Self.table("The process").flatMap { Self.words($0[0]) }))
        }
    }

    private func expectHelp(of name: String, toHave rows: [[String]]) throws {
        let verb = try #require(Verb.table.first { $0.name == name })
        let words = Set(Help.text(on: [verb]).matches(of: /\w+/).map { String($0.0) })
        for member in rows.flatMap({ Self.words($0[0]) }) { #expect(words.contains(member), "\(member)") }
    }

    // MARK: The page

    /// The members of each event in the table of the page.
    private static func rows() throws -> [String: [String]] {
        Dictionary(uniqueKeysWithValues: try table("Events").map { (words($0[0])[0], words($0[1])) })
    }

    /// The cells of the table below a heading of the page.
    private static func table(_ heading: String) throws -> [[String]] {
        let page = try text("Sources/Headrace/Documentation.docc/JSONLines.md")
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix("\(heading)\n") })
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    /// The words in code voice.
    private static func words(_ cell: String) -> [String] { cell.matches(of: /`(\w+)`/).map { String($0.1) } }

    /// The names of an object's members, if no value looks like one.
    private static func members(of line: String) -> [String] { line.matches(of: /"(\w+)":/).map { String($0.1) } }

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
