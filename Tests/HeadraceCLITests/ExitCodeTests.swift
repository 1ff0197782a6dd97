import Foundation
import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ExitCodeTests {
    private static let numbers: [(DownloadError.Code, Int32)] = [
        (.invalidRequest, 2), (.unknownDownload, 2), (.transportUnavailable, 1), (.digestUnavailable, 1),
        (.nameResolution, 3), (.connection, 3), (.connectionLost, 3), (.stalled, 3), (.tls, 3), (.proxy, 3),
        (.addressRefused, 1), (.httpStatus, 4), (.credentialsMissing, 4), (.redirect, 4), (.resourceChanged, 4),
        (.unexpectedContent, 4), (.protocolViolation, 7), (.contentCoding, 7), (.checksum, 6), (.fileTooLarge, 1),
        (.timedOut, 1),
        (.busy, 5),
        (.diskFull, 5), (.permission, 5), (.fileExists, 5), (.fileSystem, 5), (.cancelled, 1), (.shutDown, 1),
    ]

    @Test(arguments: numbers)
    func `each error code has its exit status`(_ code: DownloadError.Code, status: Int32) {
        #expect(ExitCode(code).code == status)
    }

    @Test func `the table of errors has every code and its exit status`() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let path = "Sources/Headrace/Documentation.docc/Errors.md"
        let page = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let rows = page.matches(of: /\n\| `(\w+)` \|.*\| (\d) \|/)
        #expect(rows.count == Self.numbers.count)
        for row in rows {
            let status = Self.numbers.first { $0.0.description == row.1 }?.1
            #expect(status == Int32(row.2), "\(row.1)")
        }
    }

    @Test(arguments: [
        ([ExitCode](), ExitCode.success), ([.network], .network), ([.refused, .refused], .refused),
        ([.refused, .network], .other), ([.other, .disk], .other),
    ])
    func `equal failures share their exit status`(_ failures: [ExitCode], status: ExitCode) {
        #expect(ExitCode(of: failures) == status)
    }

    @Test
    func `a signal adds 128 to its number`() {
        #expect(ExitCode.signal(2).code == 130)
        #expect(ExitCode.signal(15).code == 143)
    }
}
