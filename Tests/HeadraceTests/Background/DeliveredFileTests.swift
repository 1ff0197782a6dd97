import HeadracePlatform
import Testing

@testable import Headrace

/// A task that the system reports as successful is checked before its file is used.
@Suite(.timeLimit(.minutes(4)))
struct DeliveredFileTests {
    private struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var status = 200
        var fields: [String: String] = [:]
        var size: Int64 = 100
        var from = "https://example.org/a"
        /// `nil` if the file is the requested one.
        var code: DownloadError.Code?
    }

    private static let cases = [
        Case(testDescription: "the whole", fields: ["Content-Length": "100"]),
        Case(testDescription: "without a length"),
        Case(testDescription: "empty", fields: ["Content-Length": "0"], size: 0),
        Case(testDescription: "cut", fields: ["Content-Length": "101"], code: .connectionLost),
        Case(testDescription: "too long", fields: ["Content-Length": "99"], code: .connectionLost),
        Case(testDescription: "decoded", fields: ["Content-Length": "50", "Content-Encoding": "gzip"]),
        Case(testDescription: "the rest, put together", status: 206, fields: ["Content-Range": "bytes 40-99/100"]),
        Case(
            testDescription: "the rest alone",
            status: 206,
            fields: ["Content-Range": "bytes 40-99/100"],
            size: 60,
            code: .connectionLost
        ),
        Case(
            testDescription: "a part that nobody asked for",
            status: 206,
            fields: ["Content-Range": "bytes 0-99/200"],
            code: .protocolViolation
        ),
        Case(testDescription: "refused", status: 403, code: .httpStatus),
        Case(testDescription: "gone", status: 404, code: .httpStatus),
        Case(testDescription: "busy", status: 503, fields: ["Retry-After": "7"], code: .httpStatus),
        Case(testDescription: "no content", status: 204, size: 0, code: .httpStatus),
        Case(testDescription: "from http", from: "http://example.org/a", code: .redirect),
        Case(testDescription: "too large", size: 1001, code: .fileTooLarge),
    ]

    @Test(arguments: cases)
    private func `a delivered file is the requested one or reports why it is not`(_ test: Case) throws {
        let configuration = DownloadConfiguration { $0.maxFileSize = 1000 }
        let requested = try #require(URL(string: "https://example.org/a"))
        let head = ResponseHead(
            url: try #require(URL(string: test.from)),
            status: test.status,
            fields: test.fields.map { HeaderField(name: $0.key, value: $0.value) }
        )
        do throws(DownloadError) {
            let body = try BodyPlacement(ofFile: head, size: test.size, askedFor: requested, configuration)
            #expect(test.code == nil)
            #expect(body.totalBytes == test.size)
            let isAnnounced = test.fields["Content-Length"] == "\(test.size)" || test.status == 206
            #expect((body.framing == .unverified) != isAnnounced, "only an announced length proves the end")
        } catch {
            #expect(error.code == test.code)
            #expect(error.retryAfter == (test.status == 503 ? .seconds(7) : nil))
        }
    }

    private static let failures: [(String, Int, DownloadError.Code?)] = [
        ("NSURLErrorDomain", -999, nil), ("NSURLErrorDomain", -997, nil), ("NSURLErrorDomain", -1001, .stalled),
        ("NSURLErrorDomain", -1003, .nameResolution), ("NSURLErrorDomain", -1004, .connection),
        ("NSURLErrorDomain", -1005, .connectionLost), ("NSURLErrorDomain", -1009, .connection),
        ("NSURLErrorDomain", -1202, .tls), ("NSURLErrorDomain", -1022, .tls), ("NSURLErrorDomain", -1007, .redirect),
        ("NSURLErrorDomain", -3000, .fileSystem), ("NSURLErrorDomain", -996, .busy),
        ("kCFErrorDomainCFNetwork", 303, .connectionLost), ("kCFErrorDomainCFNetwork", -1003, .nameResolution),
        ("NSPOSIXErrorDomain", 53, .connectionLost), ("NSPOSIXErrorDomain", 14, .fileSystem),
        ("NSPOSIXErrorDomain", 28, .diskFull), ("NSCocoaErrorDomain", 640, .diskFull), ("Other", 1, .fileSystem),
    ]

    @Test(arguments: failures)
    func `an error from the system maps to a download error or to no failure`(
        _ domain: String,
        _ code: Int,
        _ expected: DownloadError.Code?
    ) {
        let failure = BackgroundFailure(domain: domain, code: code, text: "Something went wrong.\n")
        #expect(failure.error?.code == expected)
        #expect(failure.error?.message.contains("Something went wrong") ?? true)
        let isOfFile = if case .file = failure { true } else { false }
        #expect(isOfFile == (expected == .fileSystem || expected == .diskFull))
    }

    @Test(
        arguments: [
            { $0.allowsAddress = { $0.isPublic } }, { $0.pinnedPublicKeys = ["sha256//a"] },
            { $0.certificateAuthorities = URL(filePath: "/ca.pem") }, { $0.proxy = .none },
            { $0.registryDirectory = nil },
        ] as [@Sendable (inout DownloadConfiguration) -> Void]
    )
    func `a background session rejects protective settings that the system would ignore`(
        _ change: @Sendable (inout DownloadConfiguration) -> Void
    ) throws {
        var configuration = DownloadConfiguration {
            $0.backgroundSession = BackgroundSessionName(identifier: "a")
            $0.registryDirectory = URL(filePath: "/list")
        }
        try BackgroundLimits.check(configuration)
        change(&configuration)
        let error = #expect(throws: DownloadError.self) { try BackgroundLimits.check(configuration) }
        #expect(error?.code == .invalidRequest)
    }
}
