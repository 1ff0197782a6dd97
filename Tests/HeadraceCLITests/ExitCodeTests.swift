import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ExitCodeTests {
    private static let numbers: [(DownloadError.Code, Int32)] = [
        (.invalidRequest, 2), (.nameResolution, 3), (.connection, 3), (.tls, 3), (.stalled, 3),
        (.connectionLost, 3), (.httpStatus, 4), (.redirect, 4), (.diskFull, 5), (.permission, 5), (.fileExists, 5),
        (.fileSystem, 5), (.busy, 5), (.unknownDownload, 2), (.credentialsMissing, 4), (.protocolViolation, 7),
        (.transportUnavailable, 1), (.cancelled, 1),
        (.shutDown, 1),
    ]

    @Test(arguments: numbers)
    func `each failure has its number`(_ code: DownloadError.Code, status: Int32) {
        #expect(ExitCode(code).code == status)
    }

    @Test(arguments: [
        ([ExitCode](), ExitCode.success), ([.network], .network), ([.refused, .refused], .refused),
        ([.refused, .network], .other), ([.other, .disk], .other),
    ])
    func `failures for one reason share its number`(_ failures: [ExitCode], status: ExitCode) {
        #expect(ExitCode(of: failures) == status)
    }

    @Test
    func `a signal adds 128 to its number`() {
        #expect(ExitCode.signal(2).code == 130)
        #expect(ExitCode.signal(15).code == 143)
    }
}
