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

    /// Creates the exit status for an error code; `nil` is an error without a code.
    init(_ code: DownloadError.Code?) {
        self = Self.table.first { code.map($0.codes.contains) == true }?.status ?? .other
    }

    /// Creates the exit status of several steps: that of the failed steps, or `other` if theirs differ.
    ///
    /// If no step failed, the status is `success`.
    init(of statuses: some Sequence<ExitCode>) {
        let failures = Set(statuses).subtracting([.success])
        self = failures.count > 1 ? .other : failures.first ?? .success
    }
}
