import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The platform-independent decisions of the `URLSession` transport.
@Suite(.timeLimit(.minutes(4)))
struct URLSessionRulesTests {
    private typealias Configuration = DownloadConfiguration

    private static func url(_ text: String = "https://example.org/x") throws -> URL {
        try #require(URL(string: text))
    }

    // MARK: Unsupported settings

    @Test func `settings that URLSession would ignore are rejected by name`() throws {
        let file = try Self.url("file:///x.pem")
        let proxy = try Self.url("http://proxy.example:3128")
        let table: [(word: String, abilities: [URLSessionCapabilities], configuration: Configuration)] = [
            ("allowsAddress", [.apple, .corelibs], Configuration { $0.allowsAddress = { $0.isPublic } }),
            ("connectionPolicy", [.apple, .corelibs], Configuration { $0.connectionPolicy.addressFamily = .ipv4 }),
            ("clientCertificate", [.apple, .corelibs], Configuration { $0.clientCertificate = .init(file: file) }),
            ("a proxy", [.corelibs], Configuration { $0.proxy = .url(proxy) }),
            ("certificateAuthorities", [.corelibs], Configuration { $0.certificateAuthorities = file }),
            ("pinnedPublicKeys", [.corelibs], Configuration { $0.pinnedPublicKeys = [TestCertificate.pin] }),
            ("http_proxy", [.corelibs], Configuration { $0.proxy = .none }),
            ("nothing", [], Configuration()),
        ]
        for (word, refusing, configuration) in table {
            for abilities in [URLSessionCapabilities.apple, .corelibs] {
                let error = Self.error {
                    try abilities.validate(configuration, environment: ["http_proxy": proxy.absoluteString])
                }
                #expect(error?.code == (refusing.contains(abilities) ? .invalidRequest : nil), "\(word)")
                #expect(error?.message.contains(word) != false)
            }
        }
        #expect(
            Self.error {
                try URLSessionCapabilities.corelibs.validate(Configuration { $0.proxy = .none }, environment: [:])
            } == nil
        )
    }

    @Test func `a request that requires a public address is rejected`() throws {
        var request = TransportRequest(url: try Self.url())
        request.requiresPublicAddress = true
        let error = Self.error { try URLSessionCapabilities.apple.validate(request) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("requiresPublicAddress") == true)
    }

    @Test func `a request through a proxy is rejected without showing its password`() throws {
        var request = TransportRequest(url: try Self.url())
        #expect(Self.error { try URLSessionCapabilities.corelibs.validate(request) } == nil)
        request.proxy = try ProxyServer(parsing: "http://me:secret@proxy.example:3128")
        #expect(Self.error { try URLSessionCapabilities.apple.validate(request) } == nil)
        let error = try #require(Self.error { try URLSessionCapabilities.corelibs.validate(request) })
        #expect(error.code == .proxy)
        #expect(error.message.contains("http://proxy.example:3128"))
        #expect(!error.message.contains("secret"))
    }

    @Test func `system proxy settings apply only if neither configuration nor environment sets one`() throws {
        let proxy = DownloadConfiguration.Proxy.url(try Self.url("http://proxy.example:3128"))
        for (way, environment, expected) in [
            (.environment, [:], .system), (.environment, ["https_proxy": "http://proxy.example:3128"], .direct),
            (.environment, ["no_proxy": "*"], .system), (.none, [:], .direct), (proxy, [:], .direct),
        ] as [(Configuration.Proxy, [String: String], URLSessionRoute)] {
            let configuration = Configuration { $0.proxy = way }
            #expect(
                try URLSessionRoute.withoutProxy(configuration, environment: environment) == expected,
                "\(way) \(environment)"
            )
        }
    }

    @Test func `a proxy has a host without brackets and a port`() throws {
        for (text, host, port) in [
            ("proxy.example:3128", "proxy.example", 3128), ("https://proxy.example", "proxy.example", 443),
            ("socks5h://[2001:db8::1]:9050", "2001:db8::1", 9050), ("socks5://192.0.2.1", "192.0.2.1", 1080),
        ] as [(String, String, UInt16)] {
            let proxy = try ProxyServer(parsing: text)
            #expect(proxy.host == host)
            #expect(proxy.port == port)
        }
    }

    @Test func `proxy challenges are left to the system, and server logins are rejected`() {
        let trust = "NSURLAuthenticationMethodServerTrust"
        for (method, isProxy, evaluates, expected) in [
            (trust, false, true, .evaluateServer), (trust, false, false, .handleByDefault),
            (trust, true, true, .handleByDefault), ("NSURLAuthenticationMethodHTTPBasic", true, true, .handleByDefault),
            ("NSURLAuthenticationMethodHTTPBasic", false, true, .reject),
            ("NSURLAuthenticationMethodClientCertificate", false, false, .reject),
        ] as [(String, Bool, Bool, URLSessionChallenge)] {
            let challenge = URLSessionChallenge(method: method, isProxy: isProxy, evaluatesServers: evaluates)
            #expect(challenge == expected, "\(method) \(isProxy) \(evaluates)")
        }
    }

    // MARK: Heads

    @Test func `a joined head is split into its fields and its cookies`() throws {
        let cookies = "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/, b=2; Secure, c=3=4"
        let head = try ResponseHead(url: Self.url(), status: 200, joined: ["ETag": "\"v\"", "Set-Cookie": cookies])
        #expect(head.status == 200)
        #expect(head.values("etag") == ["\"v\""])
        #expect(
            head.values("set-cookie") == [
                "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/", "b=2; Secure", "c=3=4",
            ]
        )
    }

    @Test
    func `a body that URLSession has dechunked still has an end, and other fields are unchanged`() throws {
        let received: [AnyHashable: Any] = ["Transfer-Encoding": "Identity", "ETag": "\"v\"", 5: "x"]
        let fields = ResponseHead.fields(received)
        #expect(fields == ["Transfer-Encoding": "chunked", "ETag": "\"v\""])
        #expect(try BodyFraming(of: ResponseHead(url: Self.url(), status: 200, joined: fields)) == .delimited)
    }

    @Test func `L18 a head that is too large or has an invalid status is a violation`() throws {
        let many = Dictionary(uniqueKeysWithValues: (0...1000).map { ("X-\($0)", "v") })
        let long = ["X": String(repeating: "a", count: 256 << 10)]
        for (status, fields) in [(200, many), (200, long), (0, [:]), (600, [:]), (199, [:])] {
            let error = Self.error { _ = try ResponseHead(url: try Self.url(), status: status, joined: fields) }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test func `E02 a file that URLSession would decode is rejected, but an error response is not`() throws {
        for (status, coding, isRefused) in [
            (200, "gzip", true), (206, "identity, br", true), (200, "identity", false), (404, "gzip", false),
        ] {
            let error = Self.error {
                _ = try ResponseHead(url: try Self.url(), status: status, joined: ["Content-Encoding": coding])
            }
            #expect(error?.code == (isRefused ? .unexpectedContent : nil), "\(status) \(coding)")
        }
    }

    // MARK: Failures

    @Test(arguments: [
        (-999, "cancelled", true, DownloadError.Code.connectionLost), (310, "no proxy", false, .connection),
        (311, "407", false, .proxy), (-1003, "no host", false, .nameResolution),
        (-1004, "refused", false, .connection), (-1009, "offline", false, .connection),
        (-1001, "timed out", false, .connection), (-1001, "timed out", true, .connectionLost),
        (-1005, "lost", true, .connectionLost), (-1011, "Empty reply from server", false, .connectionLost),
        (-1017, "cannot parse response", false, .protocolViolation),
        (-1002, "Received HTTP/0.9 when not allowed", false, .protocolViolation), (-1202, "untrusted", false, .tls),
        (-1206, "certificate required", false, .tls), (-1022, "ATS", false, .invalidRequest),
        (-1, "transfer closed with 198 bytes remaining to read", true, .connectionLost),
        (-1, "transfer closed with outstanding read data remaining", true, .connectionLost),
        (-1, "Illegal or missing hexadecimal sequence in chunked-encoding", true, .protocolViolation),
        (-1, "Header without colon", false, .protocolViolation), (-1, "Nul byte in header", false, .protocolViolation),
        (-1, "Out of memory", false, .protocolViolation), (-1, "Out of memory", true, .connectionLost),
    ])
    func `each URLSession failure maps to a download error`(
        _ code: Int,
        _ detail: String,
        _ hasHead: Bool,
        _ expected: DownloadError.Code
    ) throws {
        let failure = URLSessionFailure(code: code, detail: "\(detail).", hasHead: hasHead)
        let error = failure.error(for: TransportRequest(url: try Self.url("https://me:secret@example.org/x?secret")))
        #expect(error.code == expected)
        #expect(!error.message.contains("secret"))
        #expect(!error.message.contains(".."))
    }

    @Test func `a cancelled task is a shutdown only if the transport was shut down`() throws {
        let course = URLSessionTransferState(TransportRequest(url: try Self.url()), suspends: true, at: .now)
        #expect(course.failure((code: -999, detail: "cancelled"), isShutDown: true)?.code == .shutDown)
        let error = try #require(course.failure((code: -999, detail: "cancelled"), isShutDown: false))
        #expect(error.code == .connectionLost)
    }

    @Test func `an untrusted authority has a remedy, and custom authorities require an ATS exception`() throws {
        let request = TransportRequest(url: try Self.url())
        for code in [-1200, -1201, -1202, -1203, -1204] {
            var failure = URLSessionFailure(code: code, detail: "untrusted.", hasHead: false)
            let isUnknown = [-1202, -1203].contains(code)
            #expect(failure.error(for: request).remedy == (isUnknown ? .certificateAuthorities : nil), "\(code)")
            failure.hasOwnAuthorities = true
            let error = failure.error(for: request)
            #expect(error.remedy == nil)
            #expect(error.message.contains("NSExceptionAllowsInsecureHTTPLoads"))
        }
    }

    // MARK: Timing and backpressure

    @Test func `before the head connect time counts too, and after it each byte resets the timer`() throws {
        let start = SuspendingClock.now
        let request = TransportRequest(url: try Self.url(), connectTimeout: .seconds(15), stallTimeout: .seconds(30))
        var course = URLSessionTransferState(request, suspends: true, at: start)
        #expect(course.check(at: start + .seconds(44)) == .wait(until: start + .seconds(45)))
        #expect(Self.stalls(course, at: start + .seconds(45)))
        course.headArrived(try Self.head(), at: start + .seconds(10))
        #expect(course.check(at: start + .seconds(39)) == .wait(until: start + .seconds(40)))
        #expect(course.bytesArrived(.more, at: start + .seconds(20)) == .proceed)
        #expect(course.check(at: start + .seconds(49)) == .wait(until: start + .seconds(50)))
        #expect(Self.stalls(course, at: start + .seconds(50)))
    }

    @Test func `a task is suspended once, does not stall meanwhile, and resumes once`() throws {
        let start = SuspendingClock.now
        let request = TransportRequest(url: try Self.url(), stallTimeout: .seconds(30))
        var course = URLSessionTransferState(request, suspends: true, at: start)
        course.headArrived(try Self.head(), at: start)
        #expect(course.resumed(at: start) == false)
        #expect(course.bytesArrived(.pause, at: start) == .suspend)
        #expect(course.bytesArrived(.pause, at: start) == .proceed)
        #expect(course.check(at: start + .seconds(600)) == .wait(until: start + .seconds(630)))
        #expect(course.resumed(at: start + .seconds(600)) == true)
        #expect(course.resumed(at: start + .seconds(600)) == false)
        #expect(course.check(at: start + .seconds(629)) == .wait(until: start + .seconds(630)))
        #expect(Self.stalls(course, at: start + .seconds(630)))
        #expect(course.bytesArrived(.pause, at: start + .seconds(629)) == .suspend)
    }

    @Test func `a task is not suspended if resuming would restart it`() throws {
        var course = URLSessionTransferState(TransportRequest(url: try Self.url()), suspends: false, at: .now)
        course.headArrived(try Self.head(), at: .now)
        #expect(course.bytesArrived(.pause, at: .now) == .proceed)
        #expect(!course.isSuspended)
    }

    @Test func `L11 a body ended only by TLS closure is rejected unless the protocol marks its end`() throws {
        let length = ["Content-Length": "5"]
        for (url, fields, name, isRefused) in [
            ("https://example.org/x", [:], "http/1.1", true), ("https://example.org/x", [:], nil, true),
            ("https://example.org/x", [:], "h2", false), ("https://example.org/x", length, "http/1.1", false),
            ("https://example.org/x", ["Transfer-Encoding": "chunked"], nil, false),
            ("http://example.org/x", [:], nil, false),
        ] as [(String, [String: String], String?, Bool)] {
            var course = URLSessionTransferState(TransportRequest(url: try Self.url(url)), suspends: true, at: .now)
            course.headArrived(try ResponseHead(url: Self.url(url), status: 200, joined: fields), at: .now)
            if let name { course.receivedProtocol(name) }
            #expect(course.failure(nil)?.code == (isRefused ? .protocolViolation : nil), "\(url) \(fields)")
            #expect(course.failure((code: -1005, detail: "lost"))?.code == .connectionLost)
        }
    }

    @Test func `L21 a task that ends without a head has lost its connection`() throws {
        let course = URLSessionTransferState(TransportRequest(url: try Self.url()), suspends: true, at: .now)
        #expect(course.failure(nil)?.code == .connectionLost)
    }

    private static func head() throws -> ResponseHead {
        try ResponseHead(url: url(), status: 200, joined: [:])
    }

    private static func stalls(_ course: URLSessionTransferState, at time: SuspendingClock.Instant) -> Bool {
        guard case .stalled(let error) = course.check(at: time) else { return false }
        return error.code == .stalled
    }

    // MARK: Pinned keys

    @Test(arguments: TestCertificate.allCases)
    func `the pin of a certificate is that of its key`(_ certificate: TestCertificate) throws {
        let bytes = try #require(ServerKey.certificates(inPEM: "a comment\n\(certificate.pem)\n"))
        #expect(bytes.count == 1)
        #expect(try ServerKey.pin(of: bytes[0]) == TestCertificate.pin)
    }

    @Test func `a certificate truncated before the end of its key has no pin`() throws {
        let bytes = try #require(ServerKey.certificates(inPEM: TestCertificate.trusted.pem)?.first)
        for count in 0..<bytes.count { #expect(try ServerKey.pin(of: Array(bytes[..<count])) == nil) }
        for index in 0..<60 {
            var broken = bytes
            broken[index] = 0xff
            // Any result is accepted, as long as it does not trap.
            _ = try ServerKey.pin(of: broken)
        }
    }

    @Test func `a PEM file contains a list of certificates, or none if one is damaged`() throws {
        let (first, second) = (TestCertificate.trusted.pem, TestCertificate.expired.pem)
        #expect(ServerKey.certificates(inPEM: "\(first)\n\(second)")?.count == 2)
        for text in [
            "", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA",
            "\(first)\n-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----",
        ] {
            #expect(ServerKey.certificates(inPEM: text) == nil)
        }
    }

    private static func error(_ body: () throws -> Void) -> DownloadError? {
        do {
            try body()
            return nil
        } catch {
            return error as? DownloadError
        }
    }
}
