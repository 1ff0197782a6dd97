import Headrace

struct ExitCode: Sendable, Hashable {
    let code: Int32

    static let success = ExitCode(code: 0)
    /// The status for different errors in one run, or for an error without its own status, such as a missing libcurl.
    static let other = ExitCode(code: 1)
    static let usage = ExitCode(code: 2)
    static let network = ExitCode(code: 3)
    static let refused = ExitCode(code: 4)
    static let disk = ExitCode(code: 5)
    static let checksum = ExitCode(code: 6)
    static let brokenProtocol = ExitCode(code: 7)

    /// Returns the status after a signal: 128 plus its number, as shells report it.
    static func signal(_ number: Int32) -> ExitCode { ExitCode(code: 128 + number) }
}

extension ExitCode {
    private static let table: [(status: ExitCode, codes: Set<DownloadError.Code>)] = [
        (.usage, [.invalidRequest, .unknownDownload]),
        (.network, [.nameResolution, .connection, .tls, .proxy, .stalled, .connectionLost]),
        // A redirect that is not followed is a response without the file.
        (.refused, [.httpStatus, .credentialsMissing, .redirect, .resourceChanged, .unexpectedContent]),
        (.disk, [.busy, .diskFull, .permission, .fileExists, .fileSystem]),
        (.checksum, [.checksum]), (.brokenProtocol, [.protocolViolation, .contentCoding]),
    ]

    init(_ code: DownloadError.Code) {
        self = Self.table.first { $0.codes.contains(code) }?.status ?? .other
    }

    /// Creates the exit status of a run: `success` if nothing failed, `other` after different failures.
    ///
    /// If all failures have the same status, it is that status.
    init(of failures: some Collection<ExitCode>) {
        guard let first = failures.first else {
            self = .success
            return
        }
        self = failures.allSatisfy { $0 == first } ? first : .other
    }
}
