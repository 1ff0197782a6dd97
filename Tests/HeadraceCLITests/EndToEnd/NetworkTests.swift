import HeadraceTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The built tool through proxies, with logins and cookies.
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
    func `a proxy is the option's, else the environment's`() async throws {
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

    @Test
    func `a proxy that wants a login is the network's failure, and what is no proxy is the usage's`() async throws {
        try await withForwardProxy(ProxyDialogue(.http, login: "Basic x")) { proxy in
            try await withTemporaryDirectory { folder in
                let address = proxy.address("http", login: "u:hidden").absoluteString
                let refused = try await run(["--proxy", address, "http://a.invalid/x"], in: folder)
                #expect(refused.status == 3)
                #expect(refused.errors.contains("The proxy \(proxy.address("http").absoluteString) refuses its login"))
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
    func `logins are those of a file that others cannot read`() async throws {
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
                #expect(open.errors.contains("--netrc-file: open: others can read the passwords in it"))
                try write("machine 127.0.0.1 login u password my hidden", to: "bad", in: folder)
                let bad = try await run(["--netrc-file", "bad", url], in: folder)
                #expect(bad.status == 2)
                #expect(bad.errors.contains("Line 1 of the netrc file") && !bad.errors.contains("hidden"))
                #expect(try await run(["--netrc-file", "none", url], in: folder).status == 2)
            }
        }
    }

    @Test
    func `cookies of a file are sent, and those of answers kept for the run`() async throws {
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
                    bad.errors.contains("--cookies: cookies.json: Line 1 of the file is no cookie"),
                    "\(bad.errors)"
                )
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `a pinned key and a client certificate are used`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withFaultProxy(to: server, presenting: .trusted, asksForCertificate: true) { proxy in
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
                    #expect(refused.errors.contains("none of the pinned ones"), "\(refused.errors)")
                }
            }
        }
    }
}
