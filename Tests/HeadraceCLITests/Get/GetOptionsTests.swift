import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct GetOptionsTests {
    private func options(_ line: String...) throws -> GetOptions {
        try GetOptions(ParsedArguments(line))
    }

    @Test
    func `without options the library's defaults hold`() throws {
        let options = try options("http://h/a")
        #expect(options.configuration.maxConcurrentDownloads == .automatic)
        #expect(options.configuration.stallTimeout == .seconds(30))
        #expect(options.configuration.connectTimeout == .seconds(15))
        #expect(!options.configuration.allowsInsecureRedirects)
        #expect(options.configuration.certificateAuthorities == nil)
        let request = try #require(try options.requests().first)
        #expect(request.conflictPolicy == .rename && request.refetchPolicy == .unlessCurrent)
        #expect(options.configuration.setsRemoteTime)
        #expect(request.headers.isEmpty)
    }

    @Test
    func `compressed is off by default and decodes the file`() throws {
        #expect(try options("http://h/a").requests().map(\.decodesContent) == [false])
        #expect(try options("--compressed", "http://h/a").requests().map(\.decodesContent) == [true])
    }

    @Test
    func `options reach the configuration`() throws {
        let options = try options(
            "-j8",
            "--timeout",
            "2.5",
            "--connect-timeout=1",
            "--min-speed=20K",
            "--time-limit=3600",
            "--limit-per-host=2",
            "--allow-downgrade",
            "--max-redirects=3",
            "-Amine/1",
            "--cacert",
            "/ca.pem",
            "--proxy",
            "p:3128",
            "--cert",
            "/c.pem",
            "--json"
        )
        #expect(options.configuration.maxConcurrentDownloads == 8)
        #expect(options.configuration.stallTimeout == .milliseconds(2500))
        #expect(options.configuration.connectTimeout == .seconds(1))
        #expect(options.configuration.minimumSpeed == 20 << 10)
        #expect(options.configuration.timeLimit == .seconds(3600))
        #expect(options.configuration.maxConcurrentDownloadsPerHost == 2)
        #expect(options.configuration.allowsInsecureRedirects)
        #expect(options.configuration.maxRedirects == 3 && options.configuration.userAgent == "mine/1")
        #expect(options.configuration.certificateAuthorities?.path(percentEncoded: false) == "/ca.pem")
        #expect(options.configuration.proxy == .url(try #require(URL(string: "http://p:3128"))))
        #expect(options.configuration.clientCertificate?.key.path(percentEncoded: false) == "/c.pem")
        #expect(options.writesJSON)
    }

    @Test
    func `options for connections reach the configuration`() throws {
        var policy = ConnectionPolicy()
        #expect(try options("http://h/").configuration.connectionPolicy == policy)
        policy.addressFamily = .ipv6
        policy.interface = "eth0"
        policy.addresses = ["h:80:127.0.0.1", "h:443:127.0.0.1,[::1]"]
        policy.substitutes = ["h:80:[::1]:8080"]
        policy.dnsOverHTTPS = URL(string: "https://dns.example/q")
        policy.unixSocket = URL(filePath: "/run/s")
        policy.httpVersion = .http2
        let line = [
            "-6", "--interface", "eth0", "--resolve", policy.addresses[0], "--resolve", policy.addresses[1],
            "--connect-to", policy.substitutes[0], "--doh-url", "https://dns.example/q", "--unix-socket=/run/s",
            "--http2",
        ]
        #expect(try GetOptions(ParsedArguments(line)).configuration.connectionPolicy == policy)
        #expect(try options("-4").configuration.connectionPolicy.addressFamily == .ipv4)
        #expect(try options("--http1.1").configuration.connectionPolicy.httpVersion == .http1)
        #expect(try options("--http3").configuration.connectionPolicy.httpVersion == .http3)
    }

    @Test
    func `options reach every request, in the order of the URLs`() throws {
        let options = try options(
            "--if-exists=skip",
            "--on-mismatch=delete",
            "--header",
            "A:  1 ",
            "-H",
            "B:",
            "--header-everywhere",
            "X-Api-Key: k",
            "-e",
            "http://r/",
            "http://h/a",
            "http://h/b"
        )
        let requests = try options.requests(listed: [URLList.Entry(url: "http://h/c")])
        #expect(requests.map(\.url.absoluteString) == ["http://h/a", "http://h/b", "http://h/c"])
        for request in requests {
            #expect(request.conflictPolicy == .skip && request.refetchPolicy == .always)
            #expect(request.mismatchPolicy == .delete)
            var key = HeaderField(name: "X-Api-Key", value: "k")
            key.isSentToAllOrigins = true
            let own = [HeaderField(name: "A", value: "1"), HeaderField(name: "B", value: "")]
            #expect(request.headers == own + [key, HeaderField(name: "Referer", value: "http://r/")])
        }
    }

    @Test(arguments: [
        (["-d", "/tmp/a b%20#?"], DownloadRequest.Destination.directory(URL(filePath: "/tmp/a b%20#?/"))),
        (["-o", "/tmp/x y%20#?"], .file(URL(filePath: "/tmp/x y%20#?"))),
        (["-d", "/tmp/a", "-o", "b/c"], .file(URL(filePath: "/tmp/a/b/c"))),
        (["-d", "/tmp/a", "-o", "/b/c"], .file(URL(filePath: "/b/c"))),
    ])
    func `paths are literal, and the output is relative to the directory`(
        _ line: [String],
        destination: DownloadRequest.Destination
    ) throws {
        let options = try GetOptions(ParsedArguments(line + ["http://h/x"]))
        #expect(try options.requests().map(\.destination) == [destination])
    }

    @Test
    func `relative paths become absolute ones`() throws {
        let request = try #require(try options("-o", "x", "http://h/y").requests().first)
        let here = FileManager.default.currentDirectoryPath
        guard case .file(let url) = request.destination else { return #expect(Bool(false), "no file") }
        #expect(url.path(percentEncoded: false) == here + "/x")
    }

    @Test(arguments: [
        (["-X", "POST", "-d", "a=b"], "--directory: -d is the directory; to send a body, write --data TEXT"),
        (["-X", "POST", "-d", "{}"], "--directory: -d is the directory; to send a body, write --data TEXT"),
        (["--method", "HEAD"], "--method: HEAD has no effect on files; --dry-run sends GET"),
        (["--data", "x", "--dry-run"], "--method: POST has no effect on files; --dry-run sends GET"),
        (["--data", "x", "--data-file", "/etc/passwd"], "--data: it cannot be combined with --data-file"),
        (["--data-file", "/nonexistent"], "--data-file: /nonexistent is not a regular file"),
        (
            ["--data", "x", "--mirror", "http://m/a"],
            "--mirror: a request with --data or --method may be sent again only with get --retries N"
        ),
    ])
    func `a body that would not be sent as meant is an error`(_ line: [String], _ message: String) {
        #expect(throws: UsageError(message)) { try GetOptions(ParsedArguments(line + ["http://h/a"])).requests() }
    }

    @Test
    func `mirrors apply to one file, in their order`() throws {
        let options = try options("--mirror", "http://m/a", "--mirror=http://n/", "http://h/a")
        let requests = try options.requests()
        #expect(requests.map { $0.mirrors.map(\.absoluteString) } == [["http://m/a", "http://n/"]])
        #expect(throws: UsageError("--mirror: it applies to one file, but 2 were given")) {
            try options.requests(listed: [URLList.Entry(url: "http://h/b")])
        }
    }

    @Test(arguments: [["--if-changed"], ["--if-changed", "--if-exists=overwrite"]])
    func `--if-changed allows replacing the file`(_ line: [String]) throws {
        let options = try GetOptions(ParsedArguments(line + ["--no-remote-time", "http://h/a", "http://h/b"]))
        #expect(try options.requests().map(\.refetchPolicy) == [.ifChanged, .ifChanged])
        #expect(!options.configuration.setsRemoteTime)
    }

    @Test
    func `only --wait-for-network waits for a network`() throws {
        #expect(try !options("http://h/").configuration.waitsForConnectivity)
        #expect(try options("--wait-for-network", "http://h/").configuration.waitsForConnectivity)
    }

    @Test(arguments: DownloadRequest.NetworkPolicy.allCases)
    func `--network applies to each request`(_ policy: DownloadRequest.NetworkPolicy) throws {
        let requests = try options("--network", Option.hyphenated(policy), "http://h/", "http://h/b").requests()
        #expect(requests.map(\.networkPolicy) == [policy, policy])
    }

    @Test(arguments: [
        ("x", "\"x\" is not a URL; a URL starts with http:// or https://"),
        ("ftp://h/x", "\"ftp://h/x\" is not an http or https URL."),
    ])
    func `an invalid URL of an input file is reported with its line`(_ url: String, message: String) throws {
        let list = try URLList("http://a/\n\(url)\n".utf8, name: "list")
        let error = try #require(throws: UsageError.self) { try options().requests(listed: list.entries) }
        #expect(error.message.hasPrefix("--input-file: list: line 2: \"\(url)\""), "\(error.message)")
    }

    @Test(arguments: [
        ("example.org/x", ["https://example.org/x"], []),
        ("example.org/x?a=b://c", ["https://example.org/x?a=b://c"], []),
        ("localhost", ["https://localhost"], []), ("h:8080/x", ["https://h:8080/x"], []),
        ("http://h/x", ["http://h/x"], []),
        ("--allow-downgrade example.org/x", ["https://example.org/x"], ["http://example.org/x"]),
        ("--allow-downgrade https://example.org/x", ["https://example.org/x"], []),
    ])
    func `a URL without a scheme is https, and http only if that is allowed`(
        _ line: String,
        urls: [String],
        mirrors: [String]
    ) throws {
        let requests = try GetOptions(ParsedArguments(line.split(separator: " ").map(String.init))).requests()
        #expect(requests.map(\.url.absoluteString) == urls)
        #expect(requests.flatMap(\.mirrors).map(\.absoluteString) == mirrors)
    }

    @Test(arguments: Checksum.Algorithm.allCases.filter(\.isHash))
    func `the number of bare digits tells the hash function`(_ algorithm: Checksum.Algorithm) throws {
        let digits = String(repeating: "0aF", count: 64).prefix(2 * algorithm.byteCount)
        let checksums = try options("--checksum", String(digits), "http://h/a").requests()[0].checksums
        #expect(checksums.map(\.description) == ["\(algorithm):\(digits.lowercased())"])
        #expect(throws: UsageError.self) { try self.options("--checksum", String(digits.dropLast())) }
    }

    @Test
    func `files of a document are downloaded beside the URLs, each with its name`() throws {
        let text = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="x/a"><url>http://m/1</url><url>http://n/2</url>
            </file></metalink>
            """
        let files = try Metalink(parsing: Array(text.utf8)).files
        let options = try options("-d", "/d", "--if-exists=skip", "http://h/b")
        let requests = try options.requests(files: files)
        #expect(requests.map(\.url.absoluteString) == ["http://h/b", "http://m/1"])
        #expect(requests[1].destination == .file(URL(filePath: "/d/a")))
        #expect(requests[1].mirrors.map(\.absoluteString) == ["http://n/2"])
        #expect(requests[1].conflictPolicy == .skip)
        #expect(throws: UsageError.self) { try self.options("-o", "x").requests(files: files + files) }
    }

    @Test
    func `a checksum file applies to the files of a document and of URLs`() throws {
        let (md5, sha1) = (String(repeating: "0a", count: 16), String(repeating: "0b", count: 20))
        let text = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><hash type="md5">\(md5)</hash>
            <url>http://m/1</url></file></metalink>
            """
        let files = try Metalink(parsing: Array(text.utf8)).files
        let options = try options("--checksum-file", "SUMS")
        for (line, checksums) in [("\(sha1)  dir/a", ["md5:\(md5)", "sha1:\(sha1)"]), ("\(md5)  a", ["md5:\(md5)"])] {
            let requests = try options.requests(files: files, checksums: ChecksumList(parsing: line.utf8))
            #expect(requests.map { $0.checksums.map(\.description) } == [checksums])
        }
        for (line, message) in [
            ("\(sha1)  b", "--checksum-file: SUMS has no checksum, or conflicting ones, for a"),
            (
                "\(md5.replacing("a", with: "f"))  a",
                "--metalink: a: The request has two md5 checksums that differ."
            ),
        ] {
            let list = try ChecksumList(parsing: line.utf8)
            #expect(throws: UsageError(message)) { try options.requests(files: files, checksums: list) }
        }
    }

    @Test(arguments: [("sub/foo", "x/y"), ("./sub/foo", "sub/foo"), ("sub/foo", "foo"), ("sub/foo", "./foo")])
    func `a checksum file is searched for the path and the name of the output`(_ output: String, line: String) throws {
        let sum = String(repeating: "0a", count: 16)
        let list = try ChecksumList(parsing: "\(sum)  \(line)\n".utf8)
        let request = try options("--checksum-file", "SUMS", "-o", output, "http://h/y").requests(checksums: list)[0]
        #expect(request.checksums.map(\.hexadecimal) == [sum])
    }

    @Test
    func `--limit-rate takes a rate or a schedule`() throws {
        let one = try options("--limit-rate", "64K", "http://h/").configuration
        #expect(one.rateLimit == 65_536 && one.rateSchedule == nil)
        let hours = try options("--limit-rate", "Mon-Fri 08:00-18:00 1M, else none", "http://h/").configuration
        #expect(hours.rateLimit == nil)
        #expect(hours.rateSchedule?.limit(weekday: .monday, minuteOfDay: 480) == 1 << 20)
        #expect(hours.rateSchedule?.limit(weekday: .sunday, minuteOfDay: 480) == .some(nil))
    }

    @Test(arguments: [
        ([String](), GetOptions.Verbosity.normal), (["-v"], .verbose), (["-q"], .quiet), (["-qv"], .quiet),
    ])
    func `quiet wins over verbose`(_ line: [String], verbosity: GetOptions.Verbosity) throws {
        #expect(try GetOptions(ParsedArguments(line)).verbosity == verbosity)
    }

    @Test(
        arguments: [("auto", .automatic), ("AUTO", .automatic), ("1", 1), ("64", 64)] as [(String, ConcurrencyLimit)]
    )
    func `--jobs is a number or auto`(_ text: String, _ limit: ConcurrencyLimit) throws {
        #expect(try options("-j", text).configuration.maxConcurrentDownloads == limit)
    }

    @Test
    func `--checksum applies to one file, and a checksum file lists one per name`() throws {
        let (md5, sha1) = (String(repeating: "0a", count: 16), String(repeating: "0b", count: 20))
        let given = ["--checksum", "md5=\(md5)", "--checksum", "sha1:\(sha1)"]
        let both = [Checksum("md5:\(md5)"), Checksum("sha1:\(sha1)")].compactMap(\.self)
        #expect(try GetOptions(ParsedArguments(given + ["http://h/a"])).requests()[0].checksums == both)
        #expect(throws: UsageError("--checksum: it applies to one file, but 2 were given; use --checksum-file instead"))
        {
            try GetOptions(ParsedArguments(given + ["http://h/a"])).requests(listed: [URLList.Entry(url: "http://h/b")])
        }
        let list = try ChecksumList(parsing: "\(sha1)  a b\n\(md5)  x\n".utf8)
        let line = ["--checksum-file", "SUMS"]
        let options = try GetOptions(ParsedArguments(line + ["http://h/dir/a%20b?c=d"]))
        #expect(try options.requests(checksums: list)[0].checksums == [both[1]])
        let named = try GetOptions(ParsedArguments(line + ["-o", "x", "http://h/other"]))
        #expect(try named.requests(checksums: list)[0].checksums == [both[0]])
        let missing = "--checksum-file: SUMS has no checksum, or conflicting ones, for other"
        #expect(throws: UsageError(missing)) {
            try GetOptions(ParsedArguments(line + ["http://h/other"])).requests(checksums: list)
        }
    }

    @Test(arguments: [([], nil, 16), (["-x", "4"], 4, 16), (["-x32"], 32, 32)] as [([String], Int?, Int)])
    func `--connections raises the limit of connections per host`(_ line: [String], ofOne: Int?, ofHost: Int) throws {
        let configuration = try GetOptions(ParsedArguments(line)).configuration
        #expect(configuration.maxConnectionsPerDownload == ofOne && configuration.maxConnectionsPerHost == ofHost)
    }

    @Test(arguments: [
        (["-j", "0"], "--jobs: 0 is too small; the minimum is 1"),
        (["-j", "-1"], "--jobs: \"-1\" is not a number"),
        (["-j", "99999999999999999999"], "--jobs: \"99999999999999999999\" is not a number"),
        (["--timeout", "soon"], "--timeout: \"soon\" is not a number of seconds"),
        (["--timeout", "nan"], "--timeout: \"nan\" is not a number of seconds"),
        (["--timeout", "1e9"], "--timeout: \"1e9\" is not a number of seconds"),
        (["--timeout", "1.2.3"], "--timeout: \"1.2.3\" is not a number of seconds"),
        (["--timeout", "9999999999"], "--timeout: \"9999999999\" is not a number of seconds"),
        (["--min-speed", "slow"], "--min-speed: \"slow\" is not a rate such as 500K or 1.5M, or none"),
        (["--time-limit", "1h"], "--time-limit: \"1h\" is not a number of seconds"),
        (["--connect-timeout", "0"], "--connect-timeout: 0 is too small; the minimum is 0.001"),
        (["--if-exists", "ask"], "--if-exists: \"ask\" is not one of rename, overwrite, skip, fail"),
        (["--on-mismatch", "rename"], "--on-mismatch: \"rename\" is neither keep nor delete"),
        (
            ["--if-exists", "skip", "--if-changed"],
            "--if-changed: it replaces the file, so --if-exists can only be overwrite"
        ),
        (
            ["--network", "wifi"],
            "--network: \"wifi\" is not one of any, not-expensive, not-constrained, wifi-or-wired"
        ),
        (
            ["--header", "Authorization Bearer SECRET"],
            "--header: \"Authorization\" is not a header field; write 'NAME: VALUE'"
        ),
        (
            ["--header", "Authorization SECRET:pw"],
            "--header: \"Authorization\" is not a header field; write 'NAME: VALUE'"
        ),
        (["--header", "X-Api_Key=SECRET"], "--header: \"X-Api_Key\" is not a header field; write 'NAME: VALUE'"),
        (["--header", ": x"], "--header: \"\" is not a header field; write 'NAME: VALUE'"),
        (["-o", ""], "--output: the name is empty"),
        (["-o", "-", "--json"], "--json: it cannot be combined with --output -"),
        (["--tee", "--follow-metalink"], "--follow-metalink: it cannot be combined with --tee"),
        (["-o", "a/"], "--output: a/ is a directory; use --directory instead"),
        (["-d", ""], "--directory: the path is empty"),
        (["-x", "many"], "--connections: \"many\" is not a number"),
        (["-x", "0"], "--connections: 0 is too small; the minimum is 1"),
        (["--retries", "x"], "--retries: \"x\" is not a number"),
        (["-46"], "--ipv6: --ipv4 was given too"), (["--http3", "--http1.1"], "--http3: --http1.1 was given too"),
        (["--resolve", "h:80"], "\"h:80\" does not have the form HOST:PORT:ADDRESS."),
        (["--connect-to", "h:80"], "\"h:80\" does not have the form HOST:PORT:OTHER:PORT."),
        (["--limit-rate", "K"], "--limit-rate: \"K\" is not a rate such as 500K or 1.5M, or none"),
        (["--limit-rate", "0"], "--limit-rate: 0 is out of range; use none for no limit"),
        (
            ["--limit-rate", "9999999999G"],
            "--limit-rate: 9999999999G is out of range; use none for no limit"
        ),
        (
            ["--limit-rate", "Mon 1M, else"],
            "--limit-rate: \"else\" is not a valid entry of a rate schedule: a rate must follow else."
        ),
        (
            ["--checksum", "crc=1"],
            "--checksum: \"crc=1\" is not a checksum: it must begin with one of "
                + "crc32, crc32c, crc64nvme, md5, sha1, sha256, sha384, sha512, followed by : or =."
        ),
        (["--checksum", "md5=xy"], "--checksum: md5 requires 32 hexadecimal digits, not \"xy\"."),
    ])
    func `an invalid argument is rejected`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try GetOptions(ParsedArguments(line)) }
    }

    @Test(arguments: [
        ([], "no URL given"),
        (["-o", "-", "http://a/", "http://b/"], "--output -: it writes one file, but 2 were given"),
        (["--tee", "http://a/", "http://b/"], "--tee: it writes one file, but 2 were given"),
        (
            ["-o", "x", "http://a/", "http://b/"],
            "--output: it names one file, but 2 were given; use --directory instead"
        ),
        ([""], "\"\" is not a URL"),
        (["a"], "\"a\" is not a URL; a URL starts with http:// or https://"),
        (["http://u:se/cr@et@h :x/"], "\"http://***@h :x/\" is not a URL"),
        (["alice:SECRET@host/f"], "\"***@host/f\" is not an http or https URL."),
        (["http:alice:SECRET@host/f"], "\"***@host/f\" has no host."),
        (["http://alice:99999/SECRET@host/f"], "\"http://***@host/f\" has an invalid port."),
    ])
    func `invalid URLs are rejected`(_ line: [String], message: String) throws {
        let options = try GetOptions(ParsedArguments(line))
        #expect(throws: UsageError(message)) { try options.requests() }
    }

    @Test(
        arguments: [
            ("1", 1), ("512K", 524_288), ("2m", 2_097_152), ("1.5M", 1_572_864), ("3G", 3_221_225_472), ("none", nil),
            ("None", nil), ("1MB", 1_048_576), ("64kib", 65_536),
        ] as [(String, Int64?)]
    )
    func `a rate uses powers of 1024, and none means no limit`(_ text: String, rate: Int64?) throws {
        #expect(try Argument.rate(text, of: .limitRate) == rate)
    }
}
