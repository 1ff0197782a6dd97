import Foundation
import Headrace
import Testing

@testable import HeadraceCLI

/// The pages of the documentation that are about the tool have what it has, and no more.
@Suite(.timeLimit(.minutes(4)))
struct ToolDocumentationTests {
    private static let url = makeURL("http://h/x")
    private static let file = URL(filePath: "/d/a")
    private static let error = DownloadError(.httpStatus, "No.", statusCode: 404)

    private static let events: [DownloadEvent] = [
        .started, .redirected(status: 302, from: url, to: url), .responded(status: 200, totalBytes: 5, file: file),
        .resumed(from: 5, proof: "p"), .restarted(reason: "r", bytesWasted: 5),
        .retrying(error, attempt: 1, after: .seconds(1)), .connectionOpened(range: 0..<5, from: url, connections: 2),
        .connectionClosed(reason: "r", bytesWasted: 5), .fellBackToOneConnection(reason: "r", bytesWasted: 5),
        .sourceFailed(error, next: url), .verifying, .verified(checksum), .piecesVerified(count: 5),
        .repairing(pieces: 1, bytesWasted: 5), .fellBack("f"), .skipped(file), .unchanged(file), .finished(summary),
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

    @Test func `the page has the members of each event, in their order`() throws {
        let rows = try Self.rows()
        var progress = DownloadProgress.half
        progress.bytesVerified = 5
        let lines =
            Self.events.map { JSONLines.line(for: $0, of: .connecting()) }
            + [JSONLines.progressLine(of: .running(progress))]
        for line in lines {
            // What is quoted before a colon is a name; the samples have no colons in their values but that of a URL.
            let names = line.matches(of: /"(\w+)":/).map { String($0.1) }
            #expect(names.prefix(3) == ["event", "id", "url"])
            let event = try #require(line.firstMatch(of: /"event":"(\w+)"/)).1
            #expect(rows[String(event)] == Array(names.dropFirst(3)), "\(event)")
        }
        #expect(lines.count == rows.count)
    }

    @Test func `the page has each event that the source can write`() throws {
        let source = try Self.text("Sources/HeadraceCLI/Output/JSONLines.swift")
        let written = source.matches(of: /(?:object|wasted)\(\s*"(\w+)"/).map { String($0.1) }
        #expect(written.count > 20)
        #expect(Set(written) == Set(try Self.rows().keys))
    }

    @Test func `the page has the first line`() throws {
        #expect(try Self.text("Sources/Headrace/Documentation.docc/JSONLines.md").contains("`\(JSONLines.head)`"))
    }

    @Test(arguments: Option.allCases)
    func `each option has its test in the documentation`(_ option: Option) throws {
        let page = try Self.text("Sources/Headrace/Documentation.docc/Coverage.md")
        #expect(page.contains("`--\(option.rawValue)`"))
    }

    /// The members of each event, by the table of the page.
    private static func rows() throws -> [String: [String]] {
        let page = try text("Sources/Headrace/Documentation.docc/JSONLines.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            row.split(separator: "|").prefix(2).map { cell in cell.matches(of: /`(\w+)`/).map { String($0.1) } }
        }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0][0], $0[1]) })
    }

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
