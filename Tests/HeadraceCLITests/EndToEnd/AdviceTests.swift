import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Messages of the built tool about failures that an option can solve.
@Suite(.timeLimit(.minutes(4)))
struct AdviceTests {
    private static let downgrade = Response.redirect(to: "http://127.0.0.1:1/x")

    private func errors(of url: URL, _ options: String..., status: Int = 3) async throws -> String {
        try await withTemporaryDirectory { folder in
            var process = try ToolProcess(["get", "--retries", "0"] + options + [url.absoluteString], in: folder)
            let result = try await process.result()
            #expect(result.status == status, "\(result.errors)")
            return result.errors + result.output
        }
    }

    #if os(Linux)
    @Test
    func `a libcurl that cannot be loaded is reported with the reason and the package`() async throws {
        try await withTemporaryDirectory { folder in
            let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]
            for name in names { try Data("no library".utf8).write(to: folder.appending(path: name)) }
            let place = folder.path(percentEncoded: false)
            var process = try ToolProcess(
                ["get", "http://127.0.0.1:1/x"],
                in: folder,
                environment: ["LD_LIBRARY_PATH=\(place)"]
            )
            let result = try await process.result()
            #expect(result.status == 1)
            #expect(result.errors.contains("libcurl could not be loaded: \(place)"), "\(result.errors)")
            #expect(result.errors.contains("libcurl.so.4: ") && result.errors.contains("Install the package libcurl4"))
        }
    }
    #endif

    @Test(arguments: [["-q"], ["--json"]])
    func `a required login is reported with the options that provide one`(_ options: [String]) async throws {
        let response = Response.status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
        try await withFaultServer(response) { server in
            let errors = try await errors(of: server.url("/x"), options[0], status: 4)
            #expect(errors.contains("headrace: x: The server responded with status 401, Unauthorized; use --netrc"))
            // The queue has only the first ones.
            #expect(errors.contains("--header 'Authorization: ...' of headrace get"))
        }
    }

    @Test
    func `downloading a checksum file gives the same advice`() async throws {
        try await withFaultServer(.status(401)) { server in
            let url = server.url("/x")
            let errors = try await errors(of: url, "--checksum-file", url.absoluteString, status: 4)
            #expect(errors.contains("--netrc"), "\(errors)")
        }
    }

    @Test(
        .enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"),
        arguments: [(TestCertificate.trusted, true), (.selfSigned, true), (.expired, false)]
    )
    func `an unknown certificate authority is reported with the option to trust it`(
        _ certificate: TestCertificate,
        isAdvertised: Bool
    ) async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withFaultProxy(to: server, presenting: certificate) { proxy in
                try await withTemporaryDirectory { folder in
                    let authority = try TestCertificate.writeAuthority(in: folder).path(percentEncoded: false)
                    let errors =
                        isAdvertised
                        ? try await errors(of: proxy.url("/x"), "-q")
                        : try await errors(of: proxy.url("/x"), "-q", "--cacert", authority)
                    #expect(errors.contains("; use --cacert ") == isAdvertised, "\(errors)")
                }
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `a redirect from https to http is reported with the option to allow it`() async throws {
        try await withFaultServer(Self.downgrade) { server in
            try await withFaultProxy(to: server, presenting: .trusted) { proxy in
                try await withTemporaryDirectory { folder in
                    let authority = try TestCertificate.writeAuthority(in: folder).path(percentEncoded: false)
                    let errors = try await errors(of: proxy.url("/x"), "-q", "--cacert", authority, status: 4)
                    #expect(errors.contains("must be allowed explicitly; use --allow-downgrade "), "\(errors)")
                }
            }
        }
    }

    @Test
    func `redirects that need cookies are reported with the option for cookies`() async throws {
        let again = Response.redirect(to: "/x").header("Set-Cookie", "seen=1")
        try await withFaultServer(again) { server in
            let errors = try await errors(of: server.url("/x"), "-q", status: 4)
            #expect(errors.contains("a cookie, which is not sent back; use --cookies FILE"), "\(errors)")
        }
    }

    @Test
    func `TLS to an http port suggests http`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let url = server.url("/x").absoluteString.replacing("http://", with: "https://")
            let errors = try await errors(of: try #require(URL(string: url)), "-q")
            #expect(errors.contains("does not speak TLS at this port: is it http://?"), "\(errors)")
        }
    }

    @Test
    func `TLS to an http proxy suggests http and does not blame the server`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let proxy = server.url("").absoluteString.replacing("http://", with: "https://")
            let url = try #require(URL(string: "http://files.example/x"))
            let errors = try await errors(of: url, "-q", "--proxy", proxy, status: 3)
            #expect(errors.contains("The proxy \(proxy) does not speak TLS at this port: is it http://?"), "\(errors)")
            #expect(!errors.contains("server files.example"))
        }
    }
}
