import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with proxies, logins and cookies.
@Suite(.timeLimit(.minutes(4)))
struct NetworkTests {
    private func run(
        _ arguments: [String],
        in folder: URL,
        environment: [String] = []
    ) async throws -> ToolProcess.Result {
        var process = try ToolProcess(
            ["get", "-v", "--retries", "0"] + arguments,
            in: folder,
            environment: environment
        )
        return try await process.result()
    }

    private func write(_ text: String, to name: String, in folder: URL, mode: Int = 0o600) throws {
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path(percentEncoded: false))
    }

    @Test
    func `the proxy comes from the option, or else from the environment`() async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic dTpoaWRkZW4=")
        try await withFaultServer(.ok("hello")) { server in
            try await withForwardProxy(dialogue) { proxy in
                try await withTemporaryDirectory { folder in
                    let address = proxy.address("http", login: "u:hidden").absoluteString
                    let url = server.url("/a").absoluteString
                    for (arguments, environment, count) in [
                        (["--proxy", address], ["http_proxy=http://127.0.0.1:1"], 1),
                        ([], ["http_proxy=\(address)"], 2), ([], ["http_proxy=\(address)", "no_proxy=127.0.0.1"], 2),
                        (["--proxy", ""], ["http_proxy=\(address)"], 2),
                    ] {
                        let result = try await run(arguments + ["-o", "x", url], in: folder, environment: environment)
                        #expect(result.status == 0, "\(result.errors)")
                        #expect(!result.errors.contains("hidden"))
                        #expect(dialogue.requests.count == count)
                    }
                }
            }
        }
    }

    #if os(Linux)
    @Test
    func `--resolve and --connect-to replace an address and a server`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                for arguments in [
                    ["--resolve", "a.invalid:\(server.port):127.0.0.1", "http://a.invalid:\(server.port)/x"],
                    ["--connect-to", "b.invalid:80:127.0.0.1:\(server.port)", "http://b.invalid/x"],
                ] {
                    let result = try await run(["-4", "--http1.1"] + arguments, in: folder)
                    #expect(result.status == 0, "\(result.errors)")
                }
                #expect(server.requests.map { $0["Host"] } == ["a.invalid:\(server.port)", "b.invalid"])
            }
        }
    }

    @Test(.enabled(if: FaultServer.hasIPv6, "this machine has no ::1"))
    func `-6 and --interface choose the address and the interface`() async throws {
        try await withFaultServer(.ok("hello"), onIPv6: true) { server in
            try await withTemporaryDirectory { folder in
                let resolve = ["--resolve", "a.invalid:\(server.port):127.0.0.1,[::1]"]
                // The server listens on ::1 only.
                for (family, status) in [("-4", 3), ("-6", 0)] {
                    let words = [family, "--interface", "lo"] + resolve + ["http://a.invalid:\(server.port)/x"]
                    let result = try await run(words, in: folder)
                    #expect(result.status == status, "\(result.errors)")
                }
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `--doh-url names the resolver`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withFaultServer(.resolver(["a.invalid": [127, 0, 0, 1]])) { resolver in
                try await withFaultProxy(to: resolver, presenting: .trusted) { proxy in
                    try await withTemporaryDirectory { folder in
                        let authority = try TestCertificate.writeAuthority(in: folder).path(percentEncoded: false)
                        let words = ["--doh-url", proxy.url("/q").absoluteString, "--cacert", authority]
                        let result = try await run(words + ["http://a.invalid:\(server.port)/x"], in: folder)
                        #expect(result.status == 0, "\(result.errors)")
                        #expect(server.requests.count == 1)
                        let wrong = try await run(["--doh-url", "http://h/q", "http://h/x"], in: folder)
                        #expect(wrong.errors.contains("The resolver http://h/q is not an https URL."))
                    }
                }
            }
        }
    }

    @Test
    func `HEADRACE_LIBCURL names the libcurl to load`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/x").absoluteString
                let own = ["HEADRACE_LIBCURL=libcurl.so.4"]
                #expect(try await run([url], in: folder, environment: own).status == 0)
                let missing = try await run([url], in: folder, environment: ["HEADRACE_LIBCURL=/none/libcurl.so"])
                #expect(missing.status == 1)
                #expect(missing.errors.contains("libcurl could not be loaded: /none/libcurl.so: "), "\(missing.errors)")
            }
        }
    }
    #endif

    @Test
    func `a proxy that requires a login is a network error, and an invalid proxy a usage error`() async throws {
        try await withForwardProxy(ProxyDialogue(.http, login: "Basic x")) { proxy in
            try await withTemporaryDirectory { folder in
                let address = proxy.address("http", login: "u:hidden").absoluteString
                let refused = try await run(["--proxy", address, "http://a.invalid/x"], in: folder)
                #expect(refused.status == 3)
                #expect(refused.errors.contains("The proxy \(proxy.address("http").absoluteString) rejected the login"))
                #expect(!refused.errors.contains("hidden"))
                for arguments in [
                    ["--proxy", "ftp://u:hidden@p"], ["--key", "k"], ["--pinned-key", "x"], ["--cert", "no"],
                ] {
                    let result = try await run(arguments + ["http://a.invalid/x"], in: folder)
                    #expect(result.status == 2, "\(arguments)")
                    #expect(!result.errors.contains("hidden"))
                }
            }
        }
    }

    @Test
    func `logins are read only from a file that other users cannot read`() async throws {
        let response = Response.answering { request in
            request["Authorization"] == "Basic dTpoaWRkZW4=" ? .ok("hello") : .status(401)
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let text = "machine 127.0.0.1 login u password hidden\n"
                try write(text, to: ".netrc", in: folder)
                let home = "HOME=\(folder.path(percentEncoded: false))"
                #expect(try await run(["--netrc", url], in: folder, environment: [home]).status == 0)
                #expect(try await run(["--netrc-file", ".netrc", url], in: folder).status == 0)
                #expect(try await run([url], in: folder, environment: [home]).status == 4)
                try write(text, to: "open", in: folder, mode: 0o644)
                let open = try await run(["--netrc-file", "open", url], in: folder)
                #expect(open.status == 2)
                #expect(open.errors.contains("--netrc-file: open: other users can read the passwords in this file"))
                try write(text, to: ".netrc", in: folder, mode: 0o644)
                let own = try await run(["--netrc", url], in: folder, environment: [home])
                #expect(own.errors.contains("headrace: --netrc: /") && own.errors.contains("other users can read"))
                try write("machine 127.0.0.1 login u password my hidden", to: "bad", in: folder)
                let bad = try await run(["--netrc-file", "bad", url], in: folder)
                #expect(bad.status == 2)
                #expect(bad.errors.contains("Line 1 of the netrc file") && !bad.errors.contains("hidden"))
                #expect(try await run(["--netrc-file", "none", url], in: folder).status == 2)
            }
        }
    }

    @Test
    func `cookies of a file and of responses are sent during the run`() async throws {
        let routes: [String: Response] = [
            "/a": .redirect(to: "/b").header("Set-Cookie", "new=hidden"), "/b": .ok("hello"),
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                try write("127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\thidden\n", to: "cookies.txt", in: folder)
                let result = try await run(["--cookies", "cookies.txt", server.url("/a").absoluteString], in: folder)
                #expect(result.status == 0, "\(result.errors)")
                #expect(!result.errors.contains("hidden"))
                #expect(server.requests.map { $0["Cookie"] } == ["session=hidden", "session=hidden; new=hidden"])
                try write("{}", to: "cookies.json", in: folder)
                let bad = try await run(["--cookies", "cookies.json", "http://a.invalid/"], in: folder)
                #expect(bad.status == 2)
                #expect(
                    bad.errors.contains("--cookies: cookies.json: Line 1 of the file is not a cookie"),
                    "\(bad.errors)"
                )
            }
        }
    }

    #if os(Linux)
    @Test
    func `hosts of the HSTS file are requested over https`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let resolve = ["--resolve", "a.invalid:\(server.port):127.0.0.1", "--hsts", "hosts"]
                let url = "http://a.invalid:\(server.port)/x"
                let first = try await run(resolve + [url], in: folder)
                #expect(first.status == 0, "\(first.errors)")
                #expect(FileProbe.size(of: folder.appending(path: "hosts")) != nil)
                try write("a.invalid \"unlimited\"\n", to: "hosts", in: folder)
                let second = try await run(resolve + [url], in: folder)
                #expect(second.status == 3, "\(second.errors)")
                #expect(server.requests.count == 1)
                let wrong = try await run(["--hsts", "x", url], in: folder)
                #expect(wrong.status == 2)
                #expect(wrong.errors.contains("x is no HSTS file. Line 1"), "\(wrong.errors)")
            }
        }
    }
    #endif

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `a pinned key and a client certificate are used`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withFaultProxy(to: server, presenting: .trusted, requiresCertificate: true) { proxy in
                try await withTemporaryDirectory { folder in
                    let authority = try TestCertificate.writeAuthority(in: folder).path(percentEncoded: false)
                    let client = try TestCertificate.writeClient(in: folder).path(percentEncoded: false)
                    let url = proxy.url("/a").absoluteString
                    let common = ["--cacert", authority, "--cert", client, "--key", client]
                    let fine = try await run(common + ["--pinned-key", TestCertificate.pin, url], in: folder)
                    #expect(fine.status == 0, "\(fine.errors)")
                    let other = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
                    let refused = try await run(common + ["--pinned-key", other, url], in: folder)
                    #expect(refused.status == 3)
                    #expect(refused.errors.contains("none of the pinned keys"), "\(refused.errors)")
                }
            }
        }
    }

    @Test(
        arguments: [["verify", "a"], ["queue", "add", "--registry", "list", "http://h.invalid/a"]],
        [["--netrc-file", "../netrc"], ["--config", "../config"]]
    )
    func `a checksum file is downloaded with the login, which is not saved`(
        _ words: [String],
        _ login: [String]
    ) async throws {
        let list = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n"
        let response = Response.answering { request in
            request["Authorization"] == "Basic dTpoaWRkZW4=" ? .ok(Response.Body(stringLiteral: list)) : .status(401)
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let place = folder.appending(path: "run")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
                try write("machine 127.0.0.1 login u password hidden", to: "netrc", in: folder)
                try write("[127.0.0.1]\nuser u:hidden\n", to: "config", in: folder)
                try write("abc", to: "a", in: place)
                let options = login + ["--checksum-file", server.url("/SUMS").absoluteString]
                var process = try ToolProcess(words + options, in: place)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(server.requests.count == 1)
                #expect(try secrets(in: place) == [])
            }
        }
    }

    @Test(arguments: [
        ("user u:hidden", "Basic dTpoaWRkZW4=", []),
        ("header Authorization: Bearer hidden\nheader X-Api-Key: hidden", "Bearer hidden", ["X-Api-Key"]),
    ])
    func `queue run logs in with the configuration file, and queue add does not need the files that it names`(
        _ lines: String,
        _ authorization: String,
        withheld: [String]
    ) async throws {
        let response = Response.answering { request in
            let challenge = "\(authorization.prefix { $0 != " " }) realm=x"
            return request["Authorization"] == authorization
                ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": challenge])
        }
        try await withFaultServer(response) { server in
            try await withQueueFolder { folder in
                let login = "[127.0.0.1]\n\(lines)\n"
                try write("netrc-file /none/netrc\ncookies /none/cookies\n" + login, to: "add", in: folder.url)
                try write(login, to: "config", in: folder.url)
                let url = server.url("/a")
                let place = folder.url.path(percentEncoded: false)
                let added = try await folder.queue("add", "-d", "files", "--config", "add", url.absoluteString)
                #expect(added.status == 0)
                #expect(added.errors.matches(of: /field (\S+) of/).map { String($0.1) } == withheld, "\(added.errors)")
                let list = ["--checksum-file", url.absoluteString, url.absoluteString]
                let other = try await folder.queue(["add", "--config", "add"] + list)
                #expect(other.status == 2 && other.errors.contains("/none/netrc: no such file"), "\(other.errors)")
                var process = try folder.run("--config", "\(place)/config")
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(try await folder.states() == ["finished"])
                #expect(server.requests.map { $0["Authorization"] != nil } == [false, true])
                #expect(try secrets(in: URL(filePath: folder.registryPath)) == [])
            }
        }
    }

    @Test(arguments: ["--json", "--verbose"])
    func `S10 the tool writes no secrets`(_ option: String) async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic cDpoaWRkZW4=")
        let response = Response.answering { request in
            guard request["Authorization"] != nil else { return .status(401) }
            guard request.path == "/cut" else { return .redirect(to: "/cut").header("Set-Cookie", "new=hidden") }
            return .file(Resource(size: 300_000, seed: 1, etag: "\"v1\"")).truncated(after: 120_000)
        }
        try await withFaultServer(response) { server in
            try await withForwardProxy(dialogue) { proxy in
                try await withTemporaryDirectory { folder in
                    let place = folder.appending(path: "run")
                    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
                    try write("machine 127.0.0.1 login u password hidden", to: "netrc", in: folder)
                    try write("127.0.0.1\tFALSE\t/\tFALSE\t0\ts\thidden", to: "cookies", in: folder)
                    var process = try ToolProcess(
                        [
                            "get", option, "--retries", "0", "--jobs", "1",
                            "--proxy", proxy.address("http", login: "p:hidden").absoluteString,
                            "--netrc-file", "../netrc", "--cookies", "../cookies",
                            server.url("/a").absoluteString,
                            server.url("/b").absoluteString.replacing("://", with: "://u:hidden@"),
                        ],
                        in: place
                    )
                    let result = try await process.result()
                    #expect(result.status == 3, "\(result.errors)")
                    let last = try #require(server.requests.last)
                    #expect(last["Authorization"] == "Basic dTpoaWRkZW4=" && last["Cookie"] == "s=hidden; new=hidden")
                    #expect(dialogue.requests.allSatisfy { $0.login != nil })
                    #expect(try secrets(in: place) == [])
                    // The standard streams, and a partial file and a resume record of each download.
                    #expect(try FileProbe.names(in: place).count >= 7)
                }
            }
        }
    }

    /// The files in a folder that contain the secret, in plain text or base64.
    private func secrets(in folder: URL) throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))
        return names.filter { name in
            // Directories have no content.
            let bytes = (try? Data(contentsOf: folder.appending(path: name))) ?? Data()
            let text = String(decoding: bytes, as: UTF8.self)
            return ["hidden", "aGlkZGVu", "hpZGRlb", "oaWRkZW"].contains { text.contains($0) }
        }
    }
}
